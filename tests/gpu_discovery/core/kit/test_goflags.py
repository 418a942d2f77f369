from __future__ import annotations

import contextlib

import hypothesis
import pytest
from hypothesis import strategies as st

from gpu_discovery.core.kit import goflags
from gpu_discovery.core.kit.goflags import Flag, Kind

ONESHOT = Flag(name="oneshot", kind=Kind.BOOL, env=("ONESHOT",), doc="Once.")
OUTPUT = Flag(name="output-file", aliases=("output", "o"), kind=Kind.STRING, env=("NEW_OUTPUT", "OUTPUT"), doc="Where.")
SLEEP = Flag(name="sleep-interval", kind=Kind.DURATION, env=("SLEEP",), doc="How long.", default_text="1m0s")
NAMES = Flag(name="names", kind=Kind.LIST, env=("NAMES",), doc="Which.")
BURST = Flag(name="burst", kind=Kind.INT, env=("BURST",), doc="How many.")
QPS = Flag(name="qps", kind=Kind.FLOAT, env=("QPS",), doc="How often.")
OWN = Flag(name="own", kind=Kind.STRING, env=("OWN",), doc="Ours.", is_empty_unset=True)
FLAGS = (ONESHOT, OUTPUT, SLEEP, NAMES, BURST, QPS, OWN)


@pytest.mark.parametrize(
    ("argv", "values"),
    [
        ([], {}),
        (["--oneshot"], {"oneshot": True}),
        (["-oneshot"], {"oneshot": True}),
        (["--oneshot=false"], {"oneshot": False}),
        (["-oneshot=F"], {"oneshot": False}),
        (["--output-file", "x"], {"output-file": "x"}),
        (["-o", "x"], {"output-file": "x"}),
        (["--o=x"], {"output-file": "x"}),
        (["--output="], {"output-file": ""}),
        (["--output", "--oneshot"], {"output-file": "--oneshot"}),
        (["--output=a=b"], {"output-file": "a=b"}),
        (["--sleep-interval", "1m30s"], {"sleep-interval": 90.0}),
        (["--sleep-interval=infinite"], {"sleep-interval": float("inf")}),
        (["--names=a, b", "-names", "c"], {"names": ("a", "b", "c")}),
        (["--names="], {"names": ("",)}),
        (["--burst=010", "--qps", "2.5"], {"burst": 8, "qps": 2.5}),
        (["-o", "x", "-o", "y"], {"output-file": "y"}),
    ],
)
def test_flags_are_read_as_go_reads_them(argv: list[str], values: dict[str, goflags.Value]) -> None:
    """One dash or two, value behind '=' or as the next word, booleans behind '=' only, lists add up."""
    assert goflags.parse(argv, FLAGS) == goflags.Parsed(values)


@pytest.mark.parametrize(
    ("argv", "values", "ignored", "after"),
    [
        (["--oneshot", "false", "-o", "x"], {"oneshot": True}, ("false", "-o", "x"), "--oneshot"),
        (["word", "--oneshot"], {}, ("word", "--oneshot"), ""),
        (["-o", "x", "word"], {"output-file": "x"}, ("word",), ""),
        (["--oneshot=true", "word"], {"oneshot": True}, ("word",), ""),
        (["-"], {}, ("-",), ""),
        (["--", "--oneshot"], {}, ("--oneshot",), ""),
        (["--oneshot", "--"], {"oneshot": True}, (), ""),
        ([""], {}, ("",), ""),
    ],
)
def test_reading_ends_at_the_first_word_that_is_no_flag(
    argv: list[str], values: dict[str, goflags.Value], ignored: tuple[str, ...], after: str
) -> None:
    """What follows is handed back, with the boolean in front of it."""
    assert goflags.parse(argv, FLAGS) == goflags.Parsed(values, ignored, after)


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        (["--sleep-intervall=1s"], r"unknown flag --sleep-intervall; did you mean --sleep-interval\?"),
        (["--SLEEP_INTERVAL"], r"did you mean --sleep-interval\?"),
        (["--zzz"], r"unknown flag --zzz$"),
        (["---oneshot"], "bad flag syntax"),
        (["-=x"], "bad flag syntax"),
        (["--output-file"], "flag needs an argument: --output-file"),
        (["--oneshot=yes"], "invalid boolean value 'yes' for --oneshot"),
        (["--sleep-interval=10"], "missing unit"),
        (["--burst=1.5"], "not an integer"),
    ],
)
def test_command_lines_that_cannot_be_read_are_usage_errors(argv: list[str], reason: str) -> None:
    """The text names the word and, for a slip, what was probably meant."""
    with pytest.raises(goflags.UsageError, match=reason):
        goflags.parse(argv, FLAGS)


@pytest.mark.parametrize(
    ("environ", "values"),
    [
        ({}, {}),
        ({"NEW_OUTPUT": "a", "OUTPUT": "b"}, {"output-file": ("a", "NEW_OUTPUT")}),
        ({"NEW_OUTPUT": "", "OUTPUT": "b"}, {"output-file": ("", "NEW_OUTPUT")}),
        ({"OUTPUT": "b"}, {"output-file": ("b", "OUTPUT")}),
        ({"ONESHOT": "T"}, {"oneshot": (True, "ONESHOT")}),
        ({"ONESHOT": ""}, {"oneshot": (False, "ONESHOT")}),
        ({"NAMES": ""}, {"names": (("",), "NAMES")}),
        ({"NAMES": "a , b"}, {"names": (("a", "b"), "NAMES")}),
        ({"SLEEP": "", "BURST": "", "QPS": "", "OWN": ""}, {}),
        ({"OWN": "x"}, {"own": ("x", "OWN")}),
    ],
)
def test_the_first_variable_that_exists_wins(
    environ: dict[str, str], values: dict[str, tuple[goflags.Value, str]]
) -> None:
    """An empty one means something to texts, booleans and lists, and nothing to numbers and durations."""
    assert goflags.from_environment(environ, FLAGS) == values


def test_a_variable_that_cannot_be_read_is_named() -> None:
    """So is the flag that it belongs to."""
    with pytest.raises(
        goflags.UsageError, match="'foo' as boolean value from environment variable ONESHOT for --oneshot"
    ):
        goflags.from_environment({"ONESHOT": "foo"}, FLAGS)


def test_help_names_every_flag_with_its_variables_and_default() -> None:
    """In its group, flags of one letter with one dash, booleans with the form that sets them false."""
    text = goflags.help_text("program", "Does things.", {"Flags": FLAGS, "Other": (goflags.HELP,)})
    assert text.startswith("Usage: program [flags]\n\nDoes things.\n\nFlags:\n  --oneshot[=false]\n")
    assert "--output-file, --output, -o string\n      Where. [env: NEW_OUTPUT, OUTPUT]" in text
    assert "--sleep-interval duration\n      How long. [default: 1m0s; env: SLEEP]" in text
    assert text.endswith("\n\nOther:\n  --help, -h\n      Show this text and exit.\n")


def test_lines_of_help_fit_on_a_screen() -> None:
    """However long a flag's text is; words with dashes in them stay whole."""
    flag = goflags.Flag(name="long", kind=goflags.Kind.STRING, doc="a-long-word " * 30)
    lines = goflags.help_text("program", "Does things.", {"Flags": (flag,)}).splitlines()
    assert max(map(len, lines)) <= 100
    assert all(line.split() == ["a-long-word"] * len(line.split()) for line in lines[6:])


@hypothesis.settings(deadline=None)
@hypothesis.given(st.lists(st.text(alphabet="-=a1 ,\x00\u00e9onesht", max_size=12)))
def test_any_words_are_read_or_refused(argv: list[str]) -> None:
    """Nothing but a usage error comes out of a command line."""
    with contextlib.suppress(goflags.UsageError):
        goflags.parse(argv, FLAGS)
