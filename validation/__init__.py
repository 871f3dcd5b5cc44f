"""Simulations that prove the methods of bayesperf where the truth is known, and write the tables of docs/coverage.md.

A study is a file. It has a `STUDY` (`validation.study`), and `TABLES`: by the name of a csv in ``validation/tables``,
the function of the number of jobs that makes it. ``make validate`` writes all tables, ``make validate STUDY=slices``
those of one file. Nothing of this is in the wheel; studies that users run on data of their own are in
`bayesperf.studies`.
"""
