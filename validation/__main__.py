"""Write tables of coverage: ``python -m validation [study] [jobs]``."""

import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

HERE = Path(__file__).parent


def main(study: str = "", jobs: int = 1) -> None:
    """Write the tables of a study, or of all."""
    for name in [study] if study else [module.name for module in iter_modules([str(HERE)])]:
        for table, made in getattr(import_module(f"validation.{name}"), "TABLES", {}).items():
            made(jobs).to_csv(HERE / "tables" / f"{table}.csv", index=False)
            print(f"validation/tables/{table}.csv", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(int, sys.argv[2:3]))
