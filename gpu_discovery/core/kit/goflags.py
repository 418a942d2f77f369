"""Command lines and environment variables as Go programs built on urfave/cli read them.

Manifests in use are written for that syntax, and the usual Python parsers differ from it where it hurts: long flags
with one dash, booleans that take a value only behind ``=``, parsing that ends at the first word that is no flag,
variables that count as set although they are empty. A flag is a row; what it means is its owner's business.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpu_discovery.core.kit import durations, gotext
from gpu_discovery.core.kit.frozen import frozen

INFINITE = "infinite"
"""Accepted wherever a duration is."""
_HELP_WIDTH = 100

Value = str | bool | int | float | tuple[str, ...]


class UsageError(ValueError):
    """A command line that cannot be read; the text is for the person who typed it."""


class Kind(enum.Enum):
    """What a flag's text is read as; the value is the word for it in help and documents."""

    STRING = "string"
    BOOL = "boolean"
    INT = "integer"
    FLOAT = "number"
    DURATION = "duration"
    """Seconds; ``inf`` for ``infinite``."""
    LIST = "list"
    """Comma separated, repeated, or both."""


@frozen(kw_only=True)
class Flag:
    """One option: its names, the variables that set it, and what a person should know of it."""

    name: str
    """Without dashes, ``sleep-interval``."""
    kind: Kind
    aliases: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    """The first variable that exists wins, even when it is empty."""
    doc: str
    default_text: str = ""
    """The default as a person would write it."""
    is_empty_unset: bool = False
    """An empty variable counts as not there at all; otherwise by kind, as urfave/cli has it."""


HELP = Flag(name="help", aliases=("h",), kind=Kind.BOOL, doc="Show this text and exit.")
VERSION = Flag(name="version", aliases=("v",), kind=Kind.BOOL, doc="Print the version and exit.")


@frozen
class Parsed:
    """A command line that was read."""

    values: Mapping[str, Value]
    """By flag name, given flags only."""
    ignored: tuple[str, ...] = ()
    """The first word that is no flag and all that follow, flags among them."""
    after: str = ""
    """The word before the ignored ones, when it is a boolean flag that such a word was perhaps meant for."""


def parse(argv: Sequence[str], flags: Iterable[Flag]) -> Parsed:
    """Read the words after the program's name. Raises UsageError."""
    by_name = {name: flag for flag in flags for name in (flag.name, *flag.aliases)}
    values: dict[str, Value] = {}
    position, after = 0, ""
    while position < len(argv):
        word = argv[position]
        if len(word) < 2 or word[0] != "-":
            return Parsed(values, tuple(argv[position:]), after)
        position += 1
        if word == "--":
            return Parsed(values, tuple(argv[position:]))
        flag, text = _split(word, by_name)
        after = word if text is None and flag.kind is Kind.BOOL else ""
        if text is None and flag.kind is not Kind.BOOL:
            if position == len(argv):
                raise UsageError(f"flag needs an argument: {word}")
            text, position = argv[position], position + 1
        _add(values, flag, _flag_value(flag, text))
    return Parsed(values)


def from_environment(environ: Mapping[str, str], flags: Iterable[Flag]) -> Mapping[str, tuple[Value, str]]:
    """(value, variable) by flag name, of the flags that a variable sets. Raises UsageError."""
    found: dict[str, tuple[Value, str]] = {}
    for flag in flags:
        variable = next((name for name in flag.env if name in environ), None)
        value = None if variable is None else _environment_value(flag, environ[variable], variable)
        if variable is not None and value is not None:
            found[flag.name] = (value, variable)
    return found


def parse_value(kind: Kind, text: str) -> Value:
    """A text as a flag of that kind reads it; ValueError says what is wrong with it."""
    match kind:
        case Kind.STRING:
            return text
        case Kind.BOOL:
            return gotext.parse_bool(text)
        case Kind.INT:
            return gotext.parse_int(text)
        case Kind.FLOAT:
            return gotext.parse_float(text)
        case Kind.DURATION:
            return float("inf") if text == INFINITE else durations.parse_go_duration(text)
        case Kind.LIST:
            return tuple(part.strip() for part in text.split(","))


def help_text(program: str, summary: str, groups: Mapping[str, Iterable[Flag]]) -> str:
    """The text of ``--help``; ``groups`` are flags by title."""
    lines = [f"Usage: {program} [flags]", "", summary]
    for title, flags in groups.items():
        lines += ["", f"{title}:"]
        for flag in flags:
            lines += _help_lines(flag)
    return "\n".join(lines) + "\n"


def _help_lines(flag: Flag) -> Iterator[str]:
    import textwrap

    names = ", ".join(("-" if len(name) == 1 else "--") + name for name in (flag.name, *flag.aliases))
    is_switch = flag.kind is Kind.BOOL and not flag.env
    yield f"  {names}" + ("" if is_switch else "[=false]" if flag.kind is Kind.BOOL else f" {flag.kind.value}")
    notes = [f"default: {flag.default_text}"] if flag.default_text else []
    notes += ["env: " + ", ".join(flag.env)] if flag.env else []
    text = f"{flag.doc} [{'; '.join(notes)}]" if notes else flag.doc
    yield from textwrap.wrap(
        text, _HELP_WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6, break_on_hyphens=False
    )


def _split(word: str, by_name: Mapping[str, Flag]) -> tuple[Flag, str | None]:
    """The flag that a word names, and the text behind ``=``."""
    name = word[2:] if word.startswith("--") else word[1:]
    if name[:1] in ("-", "="):
        raise UsageError(f"bad flag syntax: {word}")
    name, equals, text = name.partition("=")
    if name not in by_name:
        raise UsageError(f"unknown flag {word.partition('=')[0]}{_suggestion(name, by_name)}")
    return by_name[name], text if equals else None


def _suggestion(name: str, by_name: Mapping[str, Flag]) -> str:
    import difflib

    wanted = name.lower().replace("_", "-")
    near = difflib.get_close_matches(wanted, [known for known in by_name if len(known) > 1], n=1, cutoff=0.6)
    return f"; did you mean --{near[0]}?" if near else ""


def _flag_value(flag: Flag, text: str | None) -> Value:
    if text is None:
        return True
    try:
        return parse_value(flag.kind, text)
    except ValueError as error:
        raise UsageError(f"invalid {flag.kind.value} value {text!r} for --{flag.name}: {error}") from error


def _environment_value(flag: Flag, text: str, variable: str) -> Value | None:
    if not text:
        return None if flag.is_empty_unset else _empty_value(flag.kind)
    try:
        return parse_value(flag.kind, text)
    except ValueError as error:
        raise UsageError(
            f"could not parse {text!r} as {flag.kind.value} value from environment variable {variable} "
            f"for --{flag.name}: {error}"
        ) from error


def _empty_value(kind: Kind) -> Value | None:
    """What an empty variable means to urfave/cli; None: as if it weren't there."""
    empty: dict[Kind, Value] = {Kind.STRING: "", Kind.BOOL: False, Kind.LIST: ("",)}
    return empty.get(kind)


def _add(values: dict[str, Value], flag: Flag, value: Value) -> None:
    """The last occurrence wins, but the elements of lists add up."""
    before = values.get(flag.name)
    values[flag.name] = before + value if isinstance(before, tuple) and isinstance(value, tuple) else value
