"""Write tables of coverage: ``python -m validation all``, or a study in place of all, and a number of jobs."""

import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

HERE = Path(__file__).parent


def studies() -> dict[str, ModuleType]:
    """Return the files that write tables, by name."""
    names = [found.name for found in iter_modules([str(HERE)]) if found.name != "__main__"]
    modules = {name: import_module(f"validation.{name}") for name in names}
    return {name: module for name, module in modules.items() if hasattr(module, "TABLES")}


def main(study: str = "all", jobs: int | str = 1) -> None:
    """Write the tables of a study, or of all."""
    for module in studies().values() if study == "all" else [import_module(f"validation.{study}")]:
        for table, made in module.TABLES.items():
            made(int(jobs)).to_csv(HERE / "tables" / f"{table}.csv", index=False)
            print(f"validation/tables/{table}.csv", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
