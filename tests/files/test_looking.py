"""A first look at a file: its columns are what they are called, and what it says to type can be typed."""

import shlex
import sys

import numpy as np
import pandas as pd
import pytest

import bayesperf as bp
from bayesperf.cli import commands as cli

N = 200
RNG = np.random.default_rng(0)
TRUTH = RNG.integers(0, 2, N)
WORDS = np.array(["nein", "ja"])


def called(accuracy):
    return WORDS[np.where(RNG.random(N) < accuracy, TRUTH, 1 - TRUTH)]


FILES = {
    "long": (
        {"Fall": np.arange(N) // 2, "Wahrheit": np.repeat(WORDS[TRUTH[: N // 2]], 2), "Vorhersage": called(0.8),
         "Modell": np.tile(["A", "B"], N // 2), "fold": np.arange(N) % 5, "Ort": np.arange(N) // 2 % 3},
        {"Fall": "id", "Wahrheit": "actual", "Vorhersage": "predicted", "Modell": "system", "fold": "fold",
         "Ort": "group"},
    ),
    "wide": (
        {"truth": WORDS[TRUTH], "gbm": called(0.8), "net": called(0.9), "patient": np.arange(N) // 4},
        {"truth": "actual", "gbm": "predicted", "net": "predicted", "patient": "cluster"},
    ),
    "scores": (
        {"id": np.arange(N), "y": TRUTH, "prob_a": RNG.random(N), "prob_b": RNG.random(N)},
        {"id": "id", "y": "actual", "prob_a": "score", "prob_b": "score"},
    ),
    "one": ({"y_true": TRUTH, "y_pred": TRUTH[::-1], "age": TRUTH + 30.5}, {"y_true": "actual", "y_pred": "predicted"}),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_columns_are_told_and_every_command_runs(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    columns, expected = FILES[name]
    pd.DataFrame(columns).to_csv(f"{name}.csv", index=False)
    found = bp.files.look(f"{name}.csv")
    roles = dict(zip(found["column"], found["role"], strict=True))
    assert {column: roles[column] for column in expected} == expected
    assert found.attrs["rows"] == N
    several = name != "one"
    assert ("Which is better?" in found.attrs["commands"]) == several
    for command in found.attrs["commands"].values():
        monkeypatch.setattr(sys, "argv", shlex.split(command))
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        assert stopped.value.code in (0, 1, 3), capsys.readouterr().err


def test_a_file_alone_is_looked_at(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(FILES["wide"][0]).to_csv("wide.csv", index=False)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["bayesperf", *arguments])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        return stopped.value.code, capsys.readouterr()

    code, printed = run("wide.csv")
    assert code == 0
    assert "  bayesperf compare wide.csv --actual truth --predicted gbm --predicted net" in printed.out
    code, printed = run("absent.csv")
    assert (code, printed.err) == (2, "bayesperf: absent.csv: cannot be read: No such file or directory.\n")
    assert run("sumary")[0] == 2


def test_a_requirement_is_of_the_positive_class_where_labels_say_which_it_is(tmp_path):
    pd.DataFrame({"actual": [True, False, True], "predicted": [True, False, False]}).to_csv(
        tmp_path / "f.csv", index=False
    )
    assert "recall>=0.8" in bp.files.look(tmp_path / "f.csv").attrs["commands"]["Is it good enough?"]


def test_the_rarer_of_two_words_is_proposed_as_the_positive_class(tmp_path):
    (tmp_path / "f.csv").write_text("actual,predicted\n" + "well,ill\nwell,ill\nill,well\n" * 3)
    commands = bp.files.look(tmp_path / "f.csv").attrs["commands"].values()
    assert {command.split("--pos-label ")[1].split()[0] for command in commands} == {"ill"}


def test_a_file_without_labels_says_how_to_name_them(tmp_path):
    pd.DataFrame({"a": range(9), "b": list("xyz" * 3)}).to_csv(tmp_path / "f.csv", index=False)
    found = bp.files.look(tmp_path / "f.csv")
    assert found["role"].tolist() == ["id", "group"]
    assert found.attrs["commands"] == {}


ANIMALS = np.array(["perro", "gato", "ave"] * 4)
# Files as people have them, the roles of their columns, and what is typed to read them.
NEWCOMERS = {
    "no name says which labels are actual": (
        {"foto": [f"{i}.jpg" for i in range(12)], "clase": ANIMALS, "resnet": ANIMALS[::-1], "vit": ANIMALS},
        ["id", "actual", "predicted", "predicted"],
        "--actual clase --predicted resnet --predicted vit",
    ),
    "German, an adjective and a participle": (
        {"Standort": [*"AABB"] * 3, "vorhergesagt": ANIMALS[::-1], "wahr": ANIMALS},
        ["group", "predicted", "actual"],
        "--actual wahr --predicted vorhergesagt",
    ),
    "accents, and a label that is never predicted": (
        {"réel": ANIMALS, "pre\u0301dit": np.where(ANIMALS == "ave", "gato", ANIMALS)},
        ["actual", "predicted"],
        "--actual 'réel' --predicted 'pre\u0301dit'",
    ),
    "a sample is verified, of a judge's labels": (
        {"answer": range(12), "gpt": [*"pppf"] * 3, "checked": [*"ppff"] + [""] * 8, "bot": [*"ab"] * 6},
        ["id", "predicted", "actual", "system"],
        "--actual checked --predicted gpt --drop-missing --system bot",
    ),
    "the only column of two labels beside scores": (
        {"bought": [0, 1] * 6, "risk": np.arange(12) / 12 + 0.01, "site": [*"abc"] * 4},
        ["actual", "score", "group"],
        "--actual bought --score risk",
    ),
    "a pair of columns for each label": (
        {"true_art": [0, 1] * 6, "true_law": [0, 1, 1] * 4, "net_law": [1, 0, 1] * 4, "net_art": [0, 0, 1] * 4},
        ["actual", "actual", "predicted", "predicted"],
        "--actual true_art --predicted net_art --actual true_law --predicted net_law",
    ),
    "pairs whose last word tells": (
        {"art_pred": [0, 1] * 6, "art_is": [0, 1, 1] * 4, "law_pred": [1, 0, 1] * 4, "law_is": [0, 0, 1] * 4},
        ["predicted", "actual", "predicted", "actual"],
        "--actual art_is --predicted art_pred --actual law_is --predicted law_pred",
    ),
    "answers that a judge calls passed, and people a sample of them": (
        {"q": [*"abcdef"] * 2, "auto": ["pass", "fail", "pass"] * 4, "checked": ["pass", "fail"] + [""] * 10,
         "llm": [*"xxxxxxyyyyyy"]},
        ["id", "predicted", "actual", "system"],
        "--correct checked --judge auto --system llm --id q",
    ),
    "the same in Italian": (
        {"domanda": [*"abcdef"] * 2, "giudice": ["giusta", "sbagliata", "giusta"] * 4,
         "umano": ["giusta", "sbagliata"] + [""] * 10, "modello": [*"xxxxxxyyyyyy"]},
        ["id", "predicted", "actual", "system"],
        "--correct umano --judge giudice --system modello --id domanda",
    ),
    "an amount beside a risk": (
        {"fraud": [0, 1, 0, 0] * 3, "amount": np.arange(12) * 7.3, "risk": np.arange(12) / 12},
        ["actual", "", "score"],
        "--actual fraud --score risk",
    ),
    "percentages, and labels spelt in several ways": (
        {"No.": [*"abcdefghijkk"], "Left?": ["Yes", "no", "yes ", "No"] * 3, "says": ["Yes", "NA", "No", "no"] * 3,
         "sure": [f"{n}%" for n in range(40, 100, 5)]},
        ["id", "actual", "predicted", "score"],
        "--actual 'Left?' --predicted says",
    ),
    "joined labels, of other sets": (
        {"by_hand": ["a|b", "a", "b|c"] * 4, "by_machine": ["b", "a|c", ""] * 4},
        ["actual", "predicted"],
        "--actual by_hand --predicted by_machine",
    ),
    "joined labels, of which a row may have none": (
        {"themes": ["a|b", "a", ""] * 4, "predicted": ["a", "a|b", ""] * 4},
        ["actual", "predicted"],
        "--actual themes --predicted predicted",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("columns", "roles", "typed"), NEWCOMERS.values(), ids=NEWCOMERS)
def test_a_newcomers_columns_are_told(tmp_path, columns, roles, typed):
    pd.DataFrame(columns).to_csv(tmp_path / "f.csv", index=False)
    found = bp.files.look(tmp_path / "f.csv")
    assert found["role"].tolist() == roles
    assert found.attrs["commands"]["How good is it?"].partition(".csv ")[2].partition(" --pos-label")[0] == typed


@pytest.mark.slow
@pytest.mark.few
@pytest.mark.parametrize("columns", [columns for columns, *_ in NEWCOMERS.values()], ids=NEWCOMERS)
def test_a_newcomers_commands_run(tmp_path, shell, columns):
    pd.DataFrame(columns).to_csv(tmp_path / "f.csv", index=False)
    for command in bp.files.look(tmp_path / "f.csv").attrs["commands"].values():
        done = shell(*shlex.split(command)[1:])
        assert done.returncode in (0, 1, 3), done.stderr


def test_a_guess_by_values_is_said_to_be_one(tmp_path):
    pd.DataFrame({"clase": ANIMALS, "vit": ANIMALS}).to_csv(tmp_path / "f.csv", index=False)
    assert bp.files.look(tmp_path / "f.csv").attrs["notes"] == [
        "No name says which column holds the actual labels; by its values it may be 'clase'."
    ]
    pd.DataFrame({"truth": ANIMALS, "vit": ANIMALS}).to_csv(tmp_path / "f.csv", index=False)
    assert bp.files.look(tmp_path / "f.csv").attrs["notes"] == []


def test_ids_of_which_a_few_repeat_are_spoken_of(tmp_path):
    pd.DataFrame({"No.": [*"abcdefghijkk"], "truth": ANIMALS, "vit": ANIMALS}).to_csv(tmp_path / "f.csv", index=False)
    (note,) = bp.files.look(tmp_path / "f.csv").attrs["notes"]
    assert note.startswith("Column 'No.' looks like ids of examples, and 1 of 12 rows repeat one.")


def test_columns_of_other_labels_or_of_several_pairs_of_labels_are_not_guessed(tmp_path):
    several = {"smoker": [0, 1] * 6, "diabetic": [1, 1, 0] * 4, "risk": np.arange(12) / 7, "name": [*"xyz"] * 4}
    pd.DataFrame(several | {"smoker": [*"ab"] * 6}).to_csv(tmp_path / "f.csv", index=False)
    found = bp.files.look(tmp_path / "f.csv")
    assert (found["role"].tolist(), found.attrs["commands"]) == (["group", "group", "score", "group"], {})


@pytest.mark.parametrize(("ids", "paired"), [([*range(6)] * 2, " --id id"), (range(12), "")])
def test_systems_are_paired_by_ids_that_they_share(tmp_path, ids, paired):
    pd.DataFrame({"id": ids, "actual": ANIMALS, "predicted": ANIMALS, "system": [*"a" * 6, *"b" * 6]}).to_csv(
        tmp_path / "f.csv", index=False
    )
    command = bp.files.look(tmp_path / "f.csv").attrs["commands"]["Which is better?"]
    assert command.endswith(f" --system system{paired}")


def test_a_file_of_several_pairs_of_labels_has_no_systems_to_compare(tmp_path):
    columns, *_ = NEWCOMERS["a pair of columns for each label"]
    pd.DataFrame(columns).to_csv(tmp_path / "f.csv", index=False)
    assert "Which is better?" not in bp.files.look(tmp_path / "f.csv").attrs["commands"]


def test_a_number_is_a_score_if_it_is_no_whole_one_or_is_called_so_and_no_label(tmp_path):
    columns = {
        "true_prob": [*range(15)] * 2,
        "truth": [*"ab"] * 15,
        "percent_score": range(0, 30),
        "age": [*range(25)] + [1] * 5,
        "dose": ["1,5", ""] * 15,
        "Partition": [*"uv"] * 15,
        "case_id": range(30, 60),
        "patient": [*range(15)] * 2,
        "id": [1] * 30,
        "fold": ["1"] * 30,
        "passed": [0, 1] * 15,
    }
    pd.DataFrame(columns).to_csv(tmp_path / "f.csv", index=False)
    found = bp.files.look(tmp_path / "f.csv")
    assert dict(zip(found["column"], found["role"], strict=True)) == {
        "truth": "actual", "true_prob": "group", "percent_score": "score", "age": "", "dose": "score",
        "Partition": "part", "case_id": "id", "patient": "cluster", "id": "id", "fold": "",
        "passed": "group",
    }  # fmt: skip
    assert found["holds"].tolist()[4] == "numbers from 1.5 to 1.5; 15 missing"
    # Of two columns of right and wrong none is taken.
    two = pd.DataFrame({"passed": [0, 1] * 15, "solved": [0, 1, 1] * 10})
    two.to_csv(tmp_path / "f.csv", index=False)
    assert "correct" not in bp.files.look(tmp_path / "f.csv")["role"].tolist()


def test_numbered_runs_of_questions_are_attempts_and_results_in_words_are_right_or_wrong(tmp_path):
    task, run = np.repeat(np.arange(10), 3), np.tile([1, 2, 3], 10)
    log = pd.DataFrame({"task_id": task, "run": run, "result": np.where(RNG.random(30) < 0.5, "pass", "fail")})
    log.to_csv(tmp_path / "one.csv", index=False)
    pd.concat([log.assign(agent="new"), log.assign(agent="old")]).to_csv(tmp_path / "two.csv", index=False)
    log.assign(run=np.tile(["large", "small", "tiny"], 10)).to_csv(tmp_path / "named.csv", index=False)
    log.assign(result=np.where(log["result"] == "pass", 1, 0)).to_csv(tmp_path / "numbers.csv", index=False)
    one, two, named, numbers = (
        bp.files.look(tmp_path / f"{name}.csv").set_index("column")["role"].to_dict()
        for name in ("one", "two", "named", "numbers")
    )
    assert one == {"task_id": "cluster", "run": "group", "result": "correct"}
    assert two == {**one, "agent": "system"}
    assert named == {**one, "run": "system"}
    assert numbers["result"] != "correct"


@pytest.mark.parametrize(("times", "option"), [(1, "--id question"), (2, "--cluster question")])
def test_questions_are_clusters_where_a_system_answers_them_again(tmp_path, times, option):
    rows = [f"{system},{question},{(question + again) % 2}" for system in "ab" for question in range(10)
            for again in range(times)]  # fmt: skip
    (tmp_path / "f.csv").write_text("\n".join(["model,question,correct", *rows]))
    commands = bp.files.look(tmp_path / "f.csv").attrs["commands"]
    assert commands["Which is better?"].endswith(option)


def test_judged_pairs_are_told_by_their_names_and_the_systems_that_both_columns_hold(tmp_path):
    met = {"model_a": [*"xyzx"] * 3, "model_b": [*"yzxz"] * 3, "winner": ["model_a", "tie", "model_b"] * 4}
    pd.DataFrame(met | {"question": range(12)}).to_csv(tmp_path / "votes.csv", index=False)
    found = bp.files.look(tmp_path / "votes.csv")
    assert found["role"].tolist() == ["a", "b", "winner", "prompt"]
    file = tmp_path / "votes.csv"
    assert found.attrs["commands"] == {
        "Which is best?": f"bayesperf rank {file}", "A page for a colleague": f"bayesperf report {file}"
    }  # fmt: skip
    pd.DataFrame(met | {"model_b": [*"uvuv"] * 3}).to_csv(tmp_path / "other.csv", index=False)
    assert "winner" not in bp.files.look(tmp_path / "other.csv")["role"].tolist()


def test_a_column_of_groups_leads_to_the_question_whether_they_are_treated_alike(tmp_path):
    columns = {"actual": TRUTH, "predicted": TRUTH[::-1], "sex": np.where(np.arange(N) % 3, "f", "m")}
    pd.DataFrame(columns).to_csv(tmp_path / "people.csv", index=False)
    commands = bp.files.look(tmp_path / "people.csv").attrs["commands"]
    assert commands["Are groups treated alike?"].endswith("--slice sex")
    # Without a positive class that the labels say, there are no rates to compare.
    colours = np.array(["red", "green", "blue"])
    pd.DataFrame(columns | {"actual": colours[np.arange(N) % 3], "predicted": colours[np.arange(N) // 2 % 3]}).to_csv(
        tmp_path / "colours.csv", index=False
    )
    assert "Are groups treated alike?" not in bp.files.look(tmp_path / "colours.csv").attrs["commands"]


def test_a_column_of_times_leads_to_the_question_whether_it_gets_worse(tmp_path):
    months = np.array([f"2026-{month:02}" for month in (3, 1, 2)])
    columns = {"actual": TRUTH, "predicted": TRUTH[::-1], "ward": np.arange(N) % 4, "month": months[np.arange(N) % 3]}
    pd.DataFrame(columns | {"sex": np.where(TRUTH, "f", "m")}).to_csv(tmp_path / "wards.csv", index=False)
    commands = bp.files.look(tmp_path / "wards.csv").attrs["commands"]
    assert commands["Does it get worse over time?"].endswith("--slice month")
    # Of other groups, those with names come before numbers.
    assert commands["Are groups treated alike?"].endswith("--slice sex")


@pytest.mark.parametrize(("judge", "option"), [("autograder", "--correct"), ("forecast", "--actual")])
def test_good_and_bad_are_verdicts_beside_a_judge(tmp_path, judge, option):
    words = np.array(["bad", "good"])
    verified = np.where(np.arange(N) % 5, "", words[TRUTH])
    columns = {"bot": np.array(["v7", "v8"])[np.arange(N) % 2], judge: words[TRUTH[::-1]], "reviewer": verified}
    pd.DataFrame(columns).to_csv(tmp_path / "answers.csv", index=False)
    command = bp.files.look(tmp_path / "answers.csv").attrs["commands"]["How good is it?"]
    assert f"{option} reviewer" in command


def test_numbers_called_as_ids_of_which_a_few_repeat_are_ids(tmp_path):
    ids = np.where(np.arange(N) % 40, np.arange(N), np.maximum(np.arange(N) - 1, 0))
    pd.DataFrame({"case_no": ids, "y_true": TRUTH, "y_pred": TRUTH[::-1]}).to_csv(tmp_path / "f.csv", index=False)
    found = bp.files.look(tmp_path / "f.csv")
    assert found["role"].tolist() == ["id", "actual", "predicted"]
    assert any("'case_no' looks like ids of examples, and 4 of 200 rows repeat one" in n for n in found.attrs["notes"])


def test_questions_that_no_command_answers_name_what_to_call_in_python(tmp_path):
    """A column of three sites is no truth of calls 0 and 1; whole numbers beside missing values are labels."""
    files = {
        "calls.csv": ("predicted,site\n" + "1,0\n0,1\n0,2\n" * 4, "How many are positive, if nobody labelled them?"),
        "scores.csv": ("id,prob\n" + "1,0.25\n2,0.5\n", "How good is it, if no labels have come yet?"),
        "raters.csv": ("ann,bob\n" + "a,a\nb,a\nb,b\n" * 4, "How well do they agree, if none of them is the truth?"),
        "strata.csv": (
            "actual,predicted,stratum\n" + "1,1,x\n0,1,y\n0,0,x\n" * 4,
            "What if the population has other shares of these groups?",
        ),
    }
    for name, (text, question) in files.items():
        (tmp_path / name).write_text(text)
        found = bp.files.look(tmp_path / name)
        in_python = found.attrs["in_python"]
        assert next(iter(in_python)) == question
        assert len(in_python) == 1 + (name == "calls.csv")
        assert all(callable(eval(call.partition("(")[0], {"bp": bp})) for call in in_python.values())
    assert bp.files.look(tmp_path / "calls.csv").attrs["commands"] == {}


def test_a_judge_of_a_system_is_no_second_system(tmp_path):
    rows = ["1.0,1,1", "0.0,0,1", ",1,1", ",0,0"] * 3
    (tmp_path / "judged.csv").write_text("\n".join(["human,bot,judge", *rows]))
    commands = bp.files.look(tmp_path / "judged.csv").attrs["commands"]
    reading = "judged.csv --actual human --predicted bot --judge judge"
    assert commands["How good is it?"].endswith(reading)
    assert "Which is better?" not in commands


def test_spellings_of_a_class_are_merged_by_what_is_typed_and_that_is_said(tmp_path, shell):
    """Each is read as an actual label; an answer that is missing is left to the reader to judge."""
    rows = ["Yes,YES", "No,no", "yes,Yes", "No,no", "No,n/a", "Yes,no"] * 4
    (tmp_path / "f.csv").write_text("\n".join(["truth,model", *rows]))
    found = bp.files.look(tmp_path / "f.csv")
    assert found.attrs["notes"] == [
        "Labels 'No' (12) and 'no' (12) look like one class, which the commands below read as 'No'.",
        "Labels 'Yes' (12), 'yes' (4) and 'YES' (4) look like one class, which the commands below read as 'Yes'.",
        "Label 'n/a' may stand for a missing value. If so, add --map n/a= --drop-missing. Otherwise it counts as a "
        "class, and an answer that a system did not give as wrong.",
    ]
    command = found.attrs["commands"]["How good is it?"]
    assert command.endswith(" --pos-label Yes --map no=No --map yes=Yes --map YES=Yes")
    done = shell(*shlex.split(command)[1:])
    assert "Yes (12) and not Yes (12)" in " ".join(done.stdout.split()), done.stderr


def test_systems_are_told_by_ids_that_each_of_them_has(tmp_path):
    columns = {"doc_no": [*range(100)] * 2, "actual": ANIMALS.tolist() * 16 + ["ave"] * 8, "predicted": "ave",
               "ranker": ["old"] * 100 + ["new"] * 100}  # fmt: skip
    pd.DataFrame(columns).to_csv(tmp_path / "f.csv", index=False)
    found = bp.files.look(tmp_path / "f.csv")
    assert found["role"].tolist() == ["id", "actual", "predicted", "system"]
    assert "Each value of 'doc_no' occurs once with each of the 2 values of 'ranker'" in found.attrs["notes"][0]
    for question in ("How good is it?", "Which is better?", "A page for a colleague"):
        assert "--system ranker --id doc_no" in found.attrs["commands"][question]
    # An id that one of them has twice tells nothing.
    columns["doc_no"][0] = 1
    pd.DataFrame(columns).to_csv(tmp_path / "f.csv", index=False)
    assert "system" not in bp.files.look(tmp_path / "f.csv")["role"].tolist()


def test_ids_of_cases_of_which_a_few_repeat_are_no_clusters(tmp_path):
    ids = [f"C{max(i, 3)}" for i in range(N)]
    pd.DataFrame({"case_id": ids, "y_true": TRUTH, "y_pred": TRUTH[::-1]}).to_csv(tmp_path / "f.csv", index=False)
    assert bp.files.look(tmp_path / "f.csv")["role"].tolist() == ["id", "actual", "predicted"]


@pytest.mark.parametrize(
    ("columns", "command"),
    [
        ({"truth": TRUTH, "bot": TRUTH[::-1]}, "plan"),
        ({"truth": TRUTH, "bot": TRUTH[::-1], "patient": np.arange(N) // 4}, "check"),
        ({"truth": TRUTH, "prob": RNG.random(N)}, "check"),
        ({"passed": TRUTH}, "plan"),
    ],
    ids=["labels", "clusters", "scores", "outcomes"],
)
def test_whether_there_are_enough_data_is_a_question(tmp_path, columns, command):
    pd.DataFrame(columns).to_csv(tmp_path / "f.csv", index=False)
    typed = bp.files.look(tmp_path / "f.csv").attrs["commands"]["Are there enough data?"]
    assert typed.startswith(f"bayesperf {command} ")
    assert "--require" in typed


def test_a_file_of_another_alphabet_is_looked_at_in_its_encoding(tmp_path, shell):
    path = tmp_path / "f.csv"
    rows = [f"Łódź,{a},{b}" for a, b in zip(["tak", "nie"] * 20, ["tak", "tak", "nie", "nie"] * 10, strict=True)]
    path.write_text("\n".join(["ośrodek,stan faktyczny,przewidywanie", *rows]), encoding="cp1250")
    refused = shell(path)
    assert refused.returncode == 2
    assert "--encoding cp1250 (Central Europe)" in refused.stderr
    done = shell(path, "--encoding", "cp1250")
    assert "Łódź" in done.stdout
    assert done.stdout.count("--pos-label tak --encoding cp1250") > 1


def test_probabilities_beside_labels_lead_to_the_question_whether_they_can_be_trusted(tmp_path):
    columns = {"truth": WORDS[TRUTH], "bot": WORDS[TRUTH[::-1]], "prob": RNG.random(N)}
    question = "Can its probabilities be trusted?"
    for more, asked in (({}, True), ({"prob": 50 * RNG.random(N)}, False), ({"patient": np.arange(N) // 4}, False)):
        pd.DataFrame(columns | more).to_csv(tmp_path / "f.csv", index=False)
        commands = bp.files.look(tmp_path / "f.csv").attrs["commands"]
        assert (question in commands) == asked
        assert "--score" not in commands["How good is it?"]
        if asked:
            assert commands[question].endswith("--actual truth --score prob --pos-label ja")


def test_a_label_that_occurs_once_is_pointed_out_and_turkish_names_are_known(tmp_path):
    rows = ["ham,ham", "spam,spam", "spam,ham"] * 9
    for stray, notes in (("", 0), ("café,ham", 1)):
        (tmp_path / "f.csv").write_text("\n".join(["gerçek,tahmin", *rows, stray]), "utf-8")
        found = bp.files.look(tmp_path / "f.csv")
        assert found["role"].tolist() == ["actual", "predicted"]
        assert len(found.attrs["notes"]) == notes
    assert "Label 'café' occurs once, and is never predicted." in found.attrs["notes"][0]
    assert "--map 'café=CLASS'" in found.attrs["notes"][0]
