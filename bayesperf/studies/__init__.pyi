from .dependence import dependence as dependence
