"""Text for LaTeX, escaped so that it is printed literally."""

from __future__ import annotations

import re

from ticketlab.core.formatting import printable

ESCAPES = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "|": r"\textbar{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "`": r"\textasciigrave{}",
    "[": "{[}",  # after \\ these two would be an optional argument
    "]": "{]}",
    "*": "{*}",  # and this a variant of \\
    "±": r"\ensuremath{\pm}",
    "\N{MULTIPLICATION SIGN}": r"\ensuremath{\times}",
    "≤": r"\ensuremath{\leq}",
    "≥": r"\ensuremath{\geq}",
    "→": r"\ensuremath{\rightarrow}",
    "\N{MINUS SIGN}": r"\ensuremath{-}",
    "\N{EN DASH}": "--",
    "\N{EM DASH}": "---",
    "…": r"\ldots{}",
    **{char: rf"\{char}" for char in "&%$#_{}"},
}
GREEK = {
    **dict(zip("αβγδζηθικλμ", ["alpha", "beta", "gamma", "delta", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu"], strict=True)),
    **dict(zip("νξπρστυχψω", ["nu", "xi", "pi", "rho", "sigma", "tau", "upsilon", "chi", "psi", "omega"], strict=True)),
    **dict(zip("ΓΔΘΛΞΠΣΦΨΩ", ["Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Phi", "Psi", "Omega"], strict=True)),
    **{"ε": "varepsilon", "φ": "varphi"},
}
ESCAPES |= {letter: rf"\ensuremath{{\{name}}}" for letter, name in GREEK.items()}
SPECIAL = re.compile("|".join(re.escape(char) for char in ESCAPES))
LIGATURE = re.compile(r"([-',])(?=\1)")
"""Two of these in a row would become one other sign, such as a dash."""


def latex(text: object) -> str:
    """Return text as one line without LaTeX markup or invisible characters. Greek letters and common signs need no package.

    Letters of other scripts stay as they are: XeLaTeX and LuaLaTeX print them with a font that has them.
    """
    plain = printable(" ".join(str(text).split()))
    return SPECIAL.sub(lambda found: ESCAPES[found[0]], LIGATURE.sub("\\1\0", plain)).replace("\0", "{}")
