"""``trustbed --print-completion bash|zsh|fish``: what a shell completes, from the verbs' parsers.

The scripts hold verbs, actions, options and the values of options that have few; everything else
that a word can be is left to the shell's completion of files, or to nobody. What is printed is
complete by itself: a shell that completes starts no Python.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from shlex import quote

from trustbed.cli import FINE, VERBS, arguments

FILES = frozenset({"CAPTURE", "DIR", "FILE", "MODEL", "RUN", "SCENARIO", "TRACE"})
"""Names of values that are paths."""
_PROGRAM = ("--help", "--version", "--print-completion")


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option as a shell sees it.

    Attributes:
        flags: Its spellings.
        about: Its line of help, without line breaks.
        value: The name of its value; ``None``: it takes none.
        choices: The values that there are, if they are few.
        repeated: Whether it may be given several times.
    """

    flags: Sequence[str]
    about: str
    value: str | None
    choices: Sequence[str]
    repeated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A verb, or an action of one: ``campaign run``.

    Attributes:
        name: Its words.
        about: What it does, in one line.
        actions: What may follow its name.
        options: Its options, in the order of the help.
        parser: What it is made from.
    """

    name: str
    about: str
    actions: Sequence[str]
    options: Sequence[Option]
    parser: argparse.ArgumentParser

    @property
    def flags(self) -> list[str]:
        """All spellings of its options."""
        return [flag for option in self.options for flag in option.flags]


def commands() -> Iterator[Command]:
    """Every verb, each followed by its actions."""
    for verb, (_, about) in VERBS.items():
        module = import_module(f"trustbed.cli.{verb}")
        actions = getattr(module, "ACTIONS", ())
        yield _command(verb, about, tuple(actions), module.parser())
        if isinstance(actions, Mapping):
            for action, its in actions.items():
                parser = its.parser()
                lines = " ".join((parser.description or "").split())
                yield _command(f"{verb} {action}", lines.partition(":")[0], (), parser)


def _command(
    name: str, about: str, actions: Sequence[str], parser: argparse.ArgumentParser
) -> Command:
    options = [
        Option(
            flags=tuple(action.option_strings),
            about=" ".join((action.help or "").split()).replace("%%", "%"),
            value=None if action.nargs == 0 else str(action.metavar or "VALUE"),
            choices=tuple(map(str, action.choices or ())),
            repeated=action.nargs == "+" or "Append" in type(action).__name__,
        )
        for action in parser._actions
        if action.option_strings
    ]
    return Command(name=name, about=about, actions=actions, options=options, parser=parser)


def bash() -> str:
    """The script for bash."""
    found = list(commands())
    values: dict[str, list[str]] = {}
    for one in found:
        for option in one.options:
            if option.value is None or option.value in FILES:
                continue
            offered = (
                f'COMPREPLY=($(compgen -W {quote(" ".join(option.choices))} -- "$cur"))'
                if option.choices
                else "compopt +o default +o bashdefault"
            )
            values.setdefault(offered, []).extend(f'"{one.name} {f}"' for f in option.flags)
    lines = [
        "_trustbed() {",
        "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}",
        "    local command=${COMP_WORDS[1]} word offered",
        "    COMPREPLY=()",
        '    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do [[ $word == -- ]] && return; done',
        "    if ((COMP_CWORD == 1)); then",
        f"        offered={quote(' '.join([*VERBS, *_PROGRAM]))}",
        '        COMPREPLY=($(compgen -W "$offered" -- "$cur"))',
        "        return",
        "    fi",
        "    if ((COMP_CWORD > 2)); then",
        '        case "$command ${COMP_WORDS[2]}" in',
        f"            {'|'.join(quote(one.name) for one in found if ' ' in one.name)})",
        '                command="$command ${COMP_WORDS[2]}" ;;',
        "        esac",
        "    fi",
        '    case "$command $prev" in',
        "        '--print-completion --print-completion')",
        "            COMPREPLY=($(compgen -W 'bash fish zsh' -- \"$cur\")); return ;;",
        *(
            f"        {'|'.join(names)})\n            {do}; return ;;"
            for do, names in values.items()
        ),
        "    esac",
        '    case "$command" in',
        *(
            f"        {quote(one.name)}) offered={quote(' '.join([*one.actions, *one.flags]))} ;;"
            for one in found
        ),
        "    esac",
        "    if [[ $cur == -* ]] || { ((COMP_CWORD == 2)) && [[ $offered != -* ]]; }; then",
        '        COMPREPLY=($(compgen -W "$offered" -- "$cur"))',
        "    fi",
        "}",
        "complete -o bashdefault -o default -F _trustbed trustbed",
    ]
    return "\n".join(lines) + "\n"


def zsh() -> str:
    """The script for zsh: to be evaluated, or as a file ``_trustbed`` in ``$fpath``."""
    found = list(commands())
    verbs = " ".join(quote(f"{verb}:{about}") for verb, (_, about) in VERBS.items())
    lines = [
        "#compdef trustbed",
        "_trustbed() {",
        "    local -a offered",
        "    if ((CURRENT == 2)); then",
        f"        offered=({verbs})",
        "        _describe -t commands command offered",
        f"        compadd -- {' '.join(_PROGRAM)}",
        "        return",
        "    fi",
        '    local command="$words[2]"',
        "    if ((CURRENT > 3)); then",
        '        case "$words[2] $words[3]" in',
        f"            {'|'.join(quote(one.name) for one in found if ' ' in one.name)})",
        '                command="$words[2] $words[3]"; shift words; ((CURRENT--)) ;;',
        "        esac",
        "    fi",
        "    shift words; ((CURRENT--))",
        '    case "$command" in',
        "        --print-completion) compadd bash fish zsh ;;",
    ]
    for one in found:
        specs = " ".join(spec for option in one.options for spec in _zsh_specs(option))
        first = f"'1:action:({' '.join(one.actions)})'" if one.actions else ""
        lines.append(f"        {quote(one.name)}) _arguments -S {specs} {first} '*:file:_files' ;;")
    lines += [
        "    esac",
        "}",
        'if [ "$funcstack[1]" = _trustbed ]; then _trustbed "$@"',
        "else compdef _trustbed trustbed; fi",
    ]
    return "\n".join(lines) + "\n"


def _zsh_specs(option: Option) -> Iterator[str]:
    about = option.about
    for special in "\\[]:":
        about = about.replace(special, f"\\{special}")
    value = ""
    if option.value is not None:
        name = option.value.replace(":", "\\:")
        offered = "_files" if option.value in FILES else f"({' '.join(option.choices)})"
        value = f":{name}:{offered}"
    excluded = "*" if option.repeated else f"({' '.join(option.flags)})"
    for flag in option.flags:
        yield quote(f"{excluded}{flag}[{about}]{value}")


def fish() -> str:
    """The script for fish."""
    lines = ["complete -c trustbed -n __fish_use_subcommand -f"]
    lines += [
        f"complete -c trustbed -n __fish_use_subcommand -a {verb} -d {_fish(about)}"
        for verb, (_, about) in VERBS.items()
    ]
    lines += [
        f"complete -c trustbed -n __fish_use_subcommand -l {flag[2:]}"
        + (" -xa 'bash fish zsh'" if flag == "--print-completion" else "")
        for flag in _PROGRAM
    ]
    for one in commands():
        verb, _, action = one.name.partition(" ")
        # Its place: "run" is a verb, and an action of "campaign".
        seen = f'set -l words (commandline -opc); test "$words[2]" = {verb}'
        if action:
            seen += f"; and __fish_seen_subcommand_from {action}"
        elif one.actions:
            actions = " ".join(one.actions)
            none = f"{seen}; and not __fish_seen_subcommand_from {actions}"
            lines.append(f"complete -c trustbed -n '{none}' -fa '{actions}'")
        for option in one.options:
            flags = [f"-l {f[2:]}" if f.startswith("--") else f"-s {f[1:]}" for f in option.flags]
            if option.value is not None:
                flags.append("-rF" if option.value in FILES else "-x")
            if option.choices:
                flags.append(f"-a {_fish(' '.join(option.choices))}")
            rest = f"{' '.join(flags)} -d {_fish(option.about)}"
            lines.append(f"complete -c trustbed -n '{seen}' {rest}")
    return "\n".join(lines) + "\n"


def _fish(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SHELLS = {"bash": bash, "fish": fish, "zsh": zsh}


def run(words: Sequence[str]) -> int:
    """Prints the script for the shell that the words name."""
    if len(words) != 1 or words[0] not in SHELLS:
        raise arguments.UsageError(
            f"no completion for {' '.join(words)}" if words else "no shell given",
            "one of: " + ", ".join(f"trustbed --print-completion {shell}" for shell in SHELLS),
        )
    print(SHELLS[words[0]](), end="")
    return FINE
