"""The command `secure-datasets`: questions about access, for administrators.

The quick engine answers questions from the published state that the last run wrote,
without dbt or Spark. If DuckDB can't give exactly Spark's answer:

- Spark runs the same queries of `who`, `why` and `compare`, unless `--as-of` is given.
- dbt answers `timeline` and `review`.
- All further questions fail.

Several commands always call dbt.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache, partial
from importlib.metadata import version as version_of
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from dbt_secure_spark.moments import is_past, moment
from secure_datasets.config.plan import PACKAGE
from secure_datasets.engines.published import (
    Elsewhere,
    Moved,
    NoState,
    State,
    check_files,
    read_state,
    relations_of,
)
from secure_datasets.project import NoProject, Project, find
from secure_datasets.sql.spelling import listed, meant

if TYPE_CHECKING:
    from secure_datasets.questions.lookups import Answer

VERSION = version_of("secure-datasets")
YES, NO, UNASKED = 0, 1, 2
FORMATS = ("text", "json", "csv")
ENGINES = ("auto", "duckdb", "spark")
SHELLS = ("bash", "zsh")
# The fields on a pack.
CAMPAIGN = ("campaign", "deadline")
# The metavars of options and arguments that name a file or a folder.
PATHS = ("PATH", "TABLE")
# The number of attempts at a question while the published state moves.
ATTEMPTS = 2
# The schema of a state that the quick engine works out for one question.
OTHER = "another_state"
# SQL for an id: a number, a parameter, a text or a call.
SQL_OF_USER = re.compile(
    r"[0-9]+|[:$@?%{].*|'.*'|.*\(.*\)|(current|session)_user", re.S | re.I
)
# Commands that Spark can answer only through dbt.
QUICK = ("what-if", "review", "timeline")


class Unasked(Exception):
    """A question that can't be asked; the message gives the reason in one sentence."""


class NotQuick(Unasked):
    """A question that the quick engine can't answer, but dbt may."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Answer one question; return 0, 1 if the answer is no, or 2 if there is none."""
    top = parser()
    options, unread = top.parse_known_args(arguments)
    if unread:
        _commands(top)[options.command].stop_at(unread)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that can't show a character shows its code.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = options.answer(options)
        sys.stdout.flush()
    except (Unasked, NoState, NoProject) as why:
        return _unasked(options.command, str(why))
    except BrokenPipeError:
        # The reader closed the pipe. Python must not flush once more when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNASKED
    except Exception as failure:
        # Python's own exit code for an exception is 1, but here 1 means "no".
        said = str(failure).strip().split("\n")[0]
        return _unasked(options.command, f"it fails: {type(failure).__name__}: {said}")
    return code


def _unasked(command: str, sentence: str) -> int:
    from secure_datasets.config.steering import without_steering

    said = sentence.removeprefix(f"{command}: ").rstrip(".")
    for line in f"{command}: {said}.".splitlines():
        print(without_steering(line), file=sys.stderr)
    return UNASKED


def _note(sentence: str) -> None:
    print(f"Note: {sentence}", file=sys.stderr)


# The command line


class _Once(argparse.Action):
    """An option that may be given only once."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Set the value; fail if the option already has one."""
        given = vars(namespace).setdefault("given", set())
        if option_string and self.dest in given:
            raise argparse.ArgumentError(self, "is given twice: give it once")
        given.add(self.dest)
        setattr(namespace, self.dest, values)


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def __init__(self, **given: Any) -> None:
        # No abbreviations: in the next version, one may match a different option.
        super().__init__(allow_abbrev=False, **given)
        self.register("action", None, _Once)
        self.register("action", "store", _Once)

    def error(self, message: str) -> NoReturn:
        self.exit(UNASKED, f"{self.prog}: {message}; see {self.prog} --help\n")

    def stop_at(self, unread: Sequence[str]) -> NoReturn:
        """Fail with the unknown words and a suggestion for them."""
        options = (text for text in unread if text.startswith("-"))
        wrong = next(options, None)
        if wrong is None:
            said = "put what has several words between quotes"
        else:
            known = [name.strip("-") for name in self._option_string_actions]
            near = meant(wrong.strip("-").partition("=")[0], known)
            said = f"near it is --{near}" if near else ""
        words = f"unrecognized arguments: {' '.join(unread)}"
        self.error(f"{words}; {said}" if said else words)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            said = f"invalid choice: {value!r}{listed(value, action.choices)}"
            raise argparse.ArgumentError(action, said)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = _Parser(
        prog="secure-datasets",
        description="Who may see what, and why. For administrators.",
    )
    top.add_argument("--version", action="version", version=VERSION)
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    add = partial(_add_command, commands)
    _add_init(add)
    models = add(
        "models",
        _models,
        "write the model and YAML of each secure dataset, by the config and the YAML of"
        " its base; exit code 1: something is left to write",
        "models\nexample: secure-datasets models --check",
    )
    models.add_argument(
        "--check", action="store_true", help="only list the files: for CI"
    )
    _add_questions(add)
    _add_changes(add)
    _add_test(add)
    _add_by_dbt(add)
    _add_review(add)
    _add_printing(add)
    completion = add(
        "completion",
        _completion,
        "print how a shell completes the command",
        "completion bash > ~/.local/share/bash-completion/completions/secure-datasets",
        needs_project=False,
    )
    completion.add_argument("shell", choices=SHELLS)
    return top


def _add_command(
    commands: Any,
    name: str,
    answer: Callable[[argparse.Namespace], int],
    says: str,
    example: str,
    needs_project: bool = True,
) -> argparse.ArgumentParser:
    """Add a command; return its parser."""
    command = commands.add_parser(
        name,
        help=says,
        description=f"{says[0].upper()}{says[1:]}.",
        epilog=f"example: secure-datasets {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(answer=answer)
    if not needs_project:
        return command
    project = command.add_argument_group("project")
    project.add_argument("--project-dir", metavar="PATH", help="as dbt has it")
    project.add_argument("--profiles-dir", metavar="PATH", help="as dbt has it")
    project.add_argument("--target", "-t", metavar="NAME", help="as dbt has it")
    return command


def _add_state(
    command: argparse.ArgumentParser, formats: Sequence[str] = FORMATS
) -> None:
    """Add the options of the published state."""
    if formats:
        command.add_argument("--format", choices=formats, default="text")
    state = command.add_argument_group("published state")
    state.add_argument(
        "--schema", metavar="NAME", help="another schema than the target's"
    )
    state.add_argument("--state", metavar="PATH", help="its published.json")
    state.add_argument("--engine", choices=ENGINES, default="auto")


def _add_moment(command: argparse.ArgumentParser) -> None:
    """Add the option of a past moment."""
    command.add_argument(
        "--as-of",
        metavar="MOMENT",
        help="a day or moment in UTC: by the raw rows that were loaded until then",
    )


def _add_init(add: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the command that makes a project."""
    init = add(
        "init",
        _init,
        "make a dbt project of your own, with a tenth secure dataset",
        "init acme\nexample: secure-datasets init acme --raw-schema replica",
        needs_project=False,
    )
    init.add_argument("folder", metavar="FOLDER", help="a new or empty folder")
    init.add_argument("--name", metavar="NAME", help="the folder's, if left out")
    init.add_argument(
        "--raw-schema",
        metavar="NAME",
        help="where the raw tables are; if left out, the sample's are loaded",
    )
    init.add_argument(
        "--package",
        metavar="PLACE",
        help="folder or Git address of the dbt package; if left out, where this"
        " command was installed from",
    )
    init.add_argument("--revision", metavar="NAME", help="tag or commit, for Git")


def _add_questions(add: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the questions about one state."""
    who = add(
        "who",
        _who,
        "what a user can see; who has an object; what a group gives",
        "who hpark\nexample: secure-datasets who --object 'project Card Settlement'\n"
        "example: secure-datasets who --group 'Data Quality Team'",
    )
    who.add_argument("user", nargs="?", metavar="USER", help="id, login, e-mail, words")
    who.add_argument("--object", metavar="OBJECT", help="type and id, or words")
    who.add_argument("--permission", metavar="NAME", help="with --object")
    who.add_argument("--group", metavar="GROUP", help="id or words")
    _add_moment(who)
    _add_state(who)
    why = add(
        "why",
        _why,
        "why a user sees a row or has an object, or why not; exit code 1: not seen",
        "why hpark --dataset tests --row test_id=12\n"
        "example: secure-datasets why hpark --object 'project Card Settlement'",
    )
    why.add_argument("user", metavar="USER", help="id, login, e-mail, words")
    why.add_argument("--dataset", metavar="NAME", help="with --row")
    why.add_argument("--row", metavar="KEYS", help="its unique key: test_id=12")
    why.add_argument("--tier", metavar="NAME", help="with --object")
    why.add_argument(
        "--object", metavar="OBJECT", help="the tier's keys, or an object by its name"
    )
    _add_moment(why)
    _add_state(why, formats=FORMATS[:2])
    compare = add(
        "compare",
        _compare,
        "what each of two users has that the other has not; exit code 1: nothing",
        "compare hpark praman",
    )
    compare.add_argument("user", metavar="USER", help="id, login, e-mail, words")
    compare.add_argument("other", metavar="OTHER", help="the same of the other user")
    _add_moment(compare)
    _add_state(compare)


def _add_changes(add: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the questions about two states."""
    since = add(
        "since",
        _since,
        "who has gained and lost what since a day, and by which rows; exit code 1:"
        " nothing",
        "since 2026-06-01\nexample: secure-datasets since 2026-06-01 --user hpark",
    )
    since.add_argument("moment", metavar="MOMENT", help="a day or moment in UTC")
    since.add_argument("--user", metavar="USER", help="of one user")
    _add_state(since)
    what_if = add(
        "what-if",
        _what_if,
        "who would gain and lose what if rows went or came; exit code 1: nobody",
        "what-if --remove 'row 21 of data_source_permissions'\n"
        "example: secure-datasets what-if --remove-user hpark\n"
        "example: secure-datasets what-if --add"
        " 'user_group_members: user_group_id=5, user_id=hpark'\n"
        "example: secure-datasets what-if --config",
    )
    for option, metavar, what in (
        ("--remove", "ROW", "a raw row, as answers name it"),
        ("--remove-user", "USER", "with all that is given to the user"),
        ("--remove-group", "GROUP", "with all that is given to the group"),
        ("--add", "ROW", "a raw row: its table, and what it says by column"),
    ):
        what_if.add_argument(
            option, action="append", default=[], metavar=metavar, help=what
        )
    what_if.add_argument(
        "--config",
        action="store_true",
        help="the config as it stands in the project now, edited since the last run",
    )
    _add_state(what_if)


def _add_test(add: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the command that runs cases."""
    test = add(
        "test",
        _test,
        "run the cases of who sees which rows, tests/access/*.yml, without Spark;"
        " exit code 1: one fails",
        "test\nexample: secure-datasets test tests/access/settlement.yml",
    )
    test.add_argument("paths", nargs="*", metavar="PATH", help="files or folders")
    test.add_argument("--engine", choices=ENGINES[1:], default=ENGINES[1])


def _commands(top: argparse.ArgumentParser) -> dict[str, Any]:
    """Return the parser of each command's arguments, by command."""
    (commands,) = (a for a in top._actions if isinstance(a.choices, dict))
    return dict(commands.choices or {})


def _add_by_dbt(add: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the commands about further states, which may call dbt."""
    timeline = add(
        "timeline",
        _timeline,
        "when access of a user, or to an object, began and ended, and by which rows",
        "timeline hpark\nexample: secure-datasets timeline --object"
        " 'project Card Settlement'",
    )
    timeline.add_argument(
        "user", nargs="?", metavar="USER", help="id, login, e-mail, words"
    )
    timeline.add_argument("--object", metavar="OBJECT", help="type and id, or words")
    _add_state(timeline, formats=FORMATS[:2])
    as_of = add(
        "as-of",
        _as_of,
        "build who could see what on a day, into a schema of its own; to ask about a"
        " day without, who and why have --as-of",
        "as-of 2026-05-01",
    )
    as_of.add_argument("day", metavar="DAY", help="a day or moment in UTC")
    diff = add(
        "diff",
        _diff,
        "what changes between two published states",
        "diff secure_datasets pr_12",
    )
    diff.add_argument("before", metavar="BEFORE", help="a published schema")
    diff.add_argument("after", metavar="AFTER", help="another one")


def _add_review(add: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the commands of an access review."""
    review = add(
        "review", _review, "write the pack of an access review", "review --owner praman"
    )
    review.add_argument("--owner", metavar="USER", help="one person in charge")
    review.add_argument("--user", metavar="USER", help="the page of one person")
    review.add_argument(
        "--months",
        type=int,
        default=12,
        help="for how many months the index counts accesses; 12 if left out",
    )
    review.add_argument("--campaign", metavar="NAME", help="which each page bears")
    review.add_argument("--deadline", metavar="DAY", help="the last day to decide")
    _add_state(review, formats=())
    decisions = add(
        "decisions",
        _decisions,
        "add the filled tables of a review to a seed",
        "decisions a.csv --by praman --on 2026-07-01",
    )
    decisions.add_argument("tables", nargs="+", metavar="TABLE", help="CSV files")
    decisions.add_argument(
        "--by", default="", metavar="USER", help="who decided, where a line says nobody"
    )
    decisions.add_argument(
        "--on", default="", metavar="DAY", help="when, where a line says no day"
    )
    decisions.add_argument(
        "--dates", default="", metavar="FORMAT", help="such as DD.MM.YYYY"
    )
    decisions.add_argument(
        "--seed",
        default="seeds/review/review_decisions.csv",
        metavar="PATH",
        help="the file that the lines are added to",
    )


def _add_printing(add: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the commands that print rules, grants and mistakes."""
    shown = add(
        "print", _print, "print the rules of a dataset by themselves", "print tests"
    )
    shown.add_argument("dataset", metavar="DATASET")
    shown.add_argument(
        "--user",
        default=":user_id",
        metavar="SQL",
        help="SQL for the id of whoever reads: an id, a parameter or a call",
    )
    shown.add_argument(
        "--relation", metavar="NAME", help="what the query calls the base"
    )
    shown.add_argument(
        "--dialect", default="spark", metavar="NAME", help="spark, postgres, and others"
    )
    render = add(
        "render",
        _render,
        "print grants for a role, or the policies of a dataset, for another engine",
        "render --dataset tests --engine postgres --accounts security.accounts",
    )
    render.add_argument(
        "--role", metavar="NAME", help="grants: a role of the seed role_operations"
    )
    render.add_argument("--dataset", metavar="NAME", help="policies")
    render.add_argument("--engine", default="snowflake", metavar="NAME")
    render.add_argument(
        "--catalog", metavar="NAME", help="with --role, for unity_catalog"
    )
    render.add_argument(
        "--accounts",
        metavar="RELATION",
        help="with --dataset: what maps each account to a user_id; if left out, the"
        " variable reader_accounts",
    )
    render.add_argument(
        "--schema", metavar="NAME", help="with --dataset: where its functions are made"
    )
    check = add(
        "check",
        _check,
        "list all mistakes in config, documentation and feeds at once; without Spark",
        "check",
    )
    check.add_argument(
        "--replica", action="store_true", help="look at the raw tables too, with Spark"
    )


# A project from nothing


def _init(options: argparse.Namespace) -> int:
    from secure_datasets import new_project as new

    folder, raw_schema = Path(options.folder), options.raw_schema
    try:
        if options.package:
            package = new.package_at(options.package, options.revision)
        elif options.revision:
            raise Unasked("--revision needs --package <Git address>")
        else:
            package = new.installed_package()
        made = new.make_project(folder, options.name, raw_schema, package)
    except new.NotMade as why:
        raise Unasked(str(why)) from None
    print(f"{len(made)} files are in {folder.resolve()}. Run next:\n")
    print(new.next_steps(folder, raw_schema is None, package))
    return YES


def _models(options: argparse.Namespace) -> int:
    from secure_datasets.model_files import written
    from secure_datasets.questions.asked import QuestionError

    folder = _project(options).folder
    try:
        made = written(folder)
    except QuestionError as problem:
        raise Unasked(str(problem)) from None
    for path, text in made.files.items():
        print(path.relative_to(folder))
        if not options.check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for sentence in made.missing:
        print(f"- {sentence}")
    return NO if made.missing or (options.check and made.files) else YES


# The quick engine


def _asked(
    options: argparse.Namespace, answer: Callable[[Any, dict[str, Any]], int]
) -> int:
    """Answer a question over the published state, by the quick engine or by Spark.

    answer  a function of the macros and of the facts that JSON shows about the answer
    """
    from secure_datasets.questions.asked import QuestionError

    # With both --state and --target, the state must belong to the target.
    project = None if options.state and not options.target else _project(options)
    path = Path(options.state or project.state_path(options.schema))
    for attempt in range(ATTEMPTS):
        state = read_state(path, VERSION)
        _check_state(state, project, options)
        try:
            with _memory(options):
                code, text = _by_engines(options, project, state, answer)
            state.check_unmoved()
        except Moved:
            if attempt + 1 < ATTEMPTS:
                continue
            raise Unasked(
                f"{path} moves while it is read: a run is publishing, so ask again"
                " when it has ended"
            ) from None
        except QuestionError as why:
            raise Unasked(str(why)) from None
        # With --config, the question is about the edited config.
        is_edited = getattr(options, "config", False)
        _tell_of_state(state, None if is_edited else project)
        print(_on_terminal(text, options))
        return code
    raise AssertionError


def _on_terminal(text: str, options: argparse.Namespace) -> str:
    """Return a text, with colours if the terminal has them."""
    from secure_datasets.questions.output import coloured

    is_plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    if vars(options).get("format", "text") != "text" or is_plain:
        return text
    return coloured(text) if sys.stdout.isatty() else text


def _project(options: argparse.Namespace) -> Project:
    return find(options.project_dir, options.profiles_dir, options.target)


def _named_project(options: argparse.Namespace) -> Project | None:
    """Return the project; None if the options name a state and no project."""
    is_named = options.project_dir or not options.state
    return _project(options) if is_named else None


def _check_state(
    state: State, project: Project | None, options: argparse.Namespace
) -> None:
    """Raise if a state belongs to a different project or schema."""
    if project and state.values["project"] != project.name:
        raise NoState(
            f"{state.path} is the project '{state.values['project']}', and this is"
            f" '{project.name}': name the target of this one, --target"
        )
    wanted = (options.schema or (project and project.schema) or "").lower()
    if wanted and state.values["schema"] != wanted:
        raise NoState(
            f"{state.path} is of the schema {state.values['schema']}, not {wanted}"
        )


def _tell_of_state(state: State, project: Project | None) -> None:
    """Print notes on the reasons why an answer may be outdated."""
    if state.unfinished:
        _note(
            f"the run {state.unfinished} has begun to publish and has not ended, so the"
            f" answer is of the run before, {state.values['run']}."
        )
    for change in _edits_of_config(state, project) if project else ():
        _note(
            f"{change} since the run {state.values['run']}, whose config the answer is"
            " by. Run dbt to answer by the new one; `secure-datasets what-if --config`"
            " says what that would change."
        )


def _edits_of_config(state: State, project: Project) -> Iterator[str]:
    """Yield the files of the config that differ from the files that the run read."""
    for file in state.document["config_files"]:
        package = file["package"]
        folder = project.folder
        if package != project.name:
            folder = folder / "dbt_packages" / package
        try:
            now = hashlib.sha256((folder / file["path"]).read_bytes()).hexdigest()
        except OSError:
            now = None
        if now != file["sha256"]:
            change = "was edited" if now else "is not there any more"
            yield f"{file['path']} of {package} {change}"


def _by_engines(
    options: argparse.Namespace, project: Project | None, state: State, answer: Any
) -> tuple[int, str]:
    """Return the exit code and text from the first engine that can answer."""
    from secure_datasets.engines.duckdb import (
        DuckDB,
        NotExact,
        NotRead,
        NotThere,
        as_json,
    )
    from secure_datasets.questions.asked import QuestionError
    from secure_datasets.questions.macros import Package
    from secure_datasets.questions.resolution import resolved

    as_of, about = _as_of_moment(options), {"state": state.about}
    about |= {"as_of": as_of} if as_of else {}
    # Only the quick engine answers about a state that is not the published one.
    is_quick = bool(as_of) or options.command in QUICK
    if is_quick and options.engine == "spark":
        raise Unasked("Spark is not asked about another state: leave out --engine")
    if options.engine != "spark":
        check_files(state)
        try:
            engine = DuckDB(
                relations_of(state),
                threads=None,
                fingerprints=is_quick,
                elsewhere=_other_catalogs(options, project, as_of),
            )
            package = Package(state, engine, as_json, _note)
            if as_of and options.command != "since":
                folders = _folders(options)
                kept = _kept(options, state)
                package = resolved(
                    state, folders, engine, OTHER, as_of, warn=_note, kept=kept
                )
                try:
                    found = answer(package, {"engine": "duckdb", **about})
                except QuestionError as why:
                    said = str(why).removeprefix(f"{options.command}: ")
                    raise QuestionError(f"as of {as_of} {said}") from None
                _keep(kept, as_of, engine)
                return found
            return answer(package, {"engine": "duckdb", **about})
        except NotRead as why:
            raise Unasked(str(why)) from None
        except (NotExact, NotThere) as why:
            is_past = as_of or options.command == "timeline"
            if is_past and isinstance(why, NotThere):
                _check_has_past(package, str(why))
            reason = (
                _without_files(str(why), bool(as_of))
                if isinstance(why, NotThere)
                else f"DuckDB does not answer as Spark would: {why}"
            )
            if options.engine == "duckdb" or is_quick:
                raise NotQuick(reason) from None
            _note(f"asked of Spark, because {reason}.")
    return _by_spark(project, state, answer, about)


def _by_spark(
    project: Project | None, state: State, answer: Any, about: dict[str, Any]
) -> tuple[int, str]:
    """Return the exit code and text of Spark's answer."""
    from secure_datasets.engines.spark import NoSession, Spark
    from secure_datasets.questions.macros import Package

    try:
        package = Package(state, Spark(project), None, _note)
        return answer(package, {"engine": "spark", **about})
    except NoSession as why:
        raise Unasked(str(why)) from None


def _other_catalogs(
    options: argparse.Namespace, project: Project | None, as_of: str | None
) -> Callable[[], Any]:
    """Return what opens the raw tables of other catalogs, as of a moment."""

    @cache
    def opened() -> Any:
        if not as_of or options.engine == "duckdb":
            return None
        # Most questions need none of them, and no session.
        from secure_datasets.engines.spark import OtherCatalogs

        return OtherCatalogs(project, as_of, _note)

    return opened


def _check_has_past(package: Any, missing: str) -> None:
    """Raise if a missing raw table holds the present: its files would not help."""
    schema, _, table = missing.partition(":")[0].rpartition(".")
    # A table of another catalog may keep snapshots, which Spark reads.
    if "." not in schema and table in package.state.document["raw_tables"]:
        package["check_has_past"](table)


def _without_files(relation: str, is_past: bool) -> str:
    """Return a sentence about a relation without known files, and the remedy."""
    build = "build the day's state (secure-datasets as-of), and ask it by --schema"
    if relation.count(".") == 2:
        said = f"{relation} is in another catalog, whose files are not read"
        return f"{said}: {build}" if is_past else said
    said = f"no files are known of {relation}: if the project makes it, run dbt there"
    return f"{said}; if not, {build}" if is_past else said


def _as_of_moment(options: argparse.Namespace) -> str | None:
    """Return the moment of the question; None for now."""
    given = getattr(options, "as_of", None) or getattr(options, "moment", None)
    if given:
        _check_moment(given)
    return given


def _check_moment(given: str) -> None:
    if moment(given) is None:
        raise Unasked(f"'{given}' is no day or moment in UTC, such as 2026-06-01")
    if not is_past(given):
        raise Unasked(f"'{given}' lies in the future")


def _memory(options: argparse.Namespace) -> AbstractContextManager[None]:
    """Return a context with the quick engine's cache of queries, if any project."""
    from secure_datasets.engines.memory import FOLDER, kept_in

    try:
        project = _named_project(options)
    except NoProject:
        # A named state is enough for an answer.
        project = None
    return kept_in(project.target_folder / FOLDER) if project else nullcontext()


def _kept(options: argparse.Namespace, state: State) -> Any:
    """Return the store of the project's past states; None if there is none."""
    from secure_datasets.questions.kept import FOLDER, Kept

    project = _named_project(options)
    most = state.document["vars"].get("kept_days", 0)
    return project and Kept(project.target_folder / FOLDER, state, most)


def _keep(kept: Any, as_of: str, engine: Any) -> None:
    """Keep a past state; a failure does not affect the answer."""
    if kept is None:
        return
    try:
        kept.keep(moment(as_of), engine, OTHER)
    except OSError as failure:
        _note(f"the past state is not kept: {failure.strerror}.")


def _folders(options: argparse.Namespace) -> Callable[[str], Path | None]:
    """Return a function from a package's name to its folder; None without a project."""
    project = _named_project(options)

    def folder(package: str) -> Path | None:
        if project is None or package == project.name:
            return project and project.folder
        return project.folder / "dbt_packages" / package

    return folder


def _who(options: argparse.Namespace) -> int:
    _check_one(options, "user", "object", "group")
    if options.permission and not options.object:
        raise Unasked("--permission is a right on an object: name it, --object")

    def answer(package: Any, about: dict[str, Any]) -> tuple[int, str]:
        from secure_datasets.questions.lookups import Answer, Lookups, Table

        asked = Lookups(package)
        if options.object:
            return _shown(
                options, asked.who_has(options.object, options.permission), about
            )
        if options.group:
            return _shown(options, asked.of_group(options.group), about)
        package.who(_called(asked, options.user))
        if options.format == "text":
            return YES, "\n".join(package.printed)
        tables = [Table(*table) for table in package.tables]
        return YES, _as_data(options, Answer("", tables), about)

    return _asked(options, answer)


def _check_one(options: argparse.Namespace, *wanted: str) -> None:
    """Raise unless exactly one of the arguments is given; the first may be a user."""
    called = {name: "a user" if name == "user" else f"--{name}" for name in wanted}
    given = [called[name] for name in wanted if vars(options)[name]]
    if len(given) != 1:
        also = f"; {' and '.join(given)} are given" if given else ""
        raise Unasked(f"name one of these: {', '.join(called.values())}{also}")


def _called(asked: Any, user: str) -> str:
    """Return a user in the macros' form: the given text, or the id for a name."""
    from secure_datasets.questions.facts.built import Built
    from secure_datasets.questions.facts.people import people

    package = asked.package
    found = people(Built(package, package["ref_of_model"]), user)
    return user if found else asked.user(user).key


def _why(options: argparse.Namespace) -> int:
    if not (options.dataset or options.tier or options.object):
        raise Unasked(
            "ask about a row, --dataset NAME --row KEYS, or about an object, --object"
            " OBJECT"
        )

    def answer(package: Any, about: dict[str, Any]) -> tuple[int, str]:
        from secure_datasets.questions.lookups import Lookups

        asked = Lookups(package)
        question: dict[str, Any] = {
            "dataset": options.dataset and _entry(options.dataset),
            "row": options.row,
            "tier": options.tier,
            "object": options.object,
        }
        if options.object and not (options.tier or options.dataset):
            question |= asked.tier_of(options.object)
        user = _called(asked, options.user)
        package.why(user, **question, format=options.format)
        code = YES if any(package.seen) else NO
        text = "\n".join(package.printed)
        if options.format == "json":
            text = json.dumps({**about, **json.loads(text)}, indent=2)
        return code, text

    return _asked(options, answer)


def _compare(options: argparse.Namespace) -> int:
    def answer(package: Any, about: dict[str, Any]) -> tuple[int, str]:
        from secure_datasets.questions.lookups import Lookups

        found = Lookups(package).compare(options.user, options.other)
        return _shown(options, found, about)

    return _asked(options, answer)


def _since(options: argparse.Namespace) -> int:
    def answer(now: Any, about: dict[str, Any]) -> tuple[int, str]:
        from secure_datasets.questions.differences import changes
        from secure_datasets.questions.resolution import resolved

        folders = _folders(options)
        moment = options.moment
        kept = _kept(options, now.state)
        then = resolved(
            now.state, folders, now.engine, OTHER, moment, warn=_note, kept=kept
        )
        schemas = [OTHER, now.state.values["schema"]]
        found = changes(then, now, schemas, options.user, moment)
        _keep(kept, moment, now.engine)
        return _shown(options, found, about)

    return _asked(options, answer)


def _what_if(options: argparse.Namespace) -> int:
    rows = (options.remove, options.remove_user, options.remove_group, options.add)
    if options.config and any(rows):
        raise Unasked("ask about rows and about --config one after the other")
    if options.config:
        return _what_if_config(options)
    if not any(rows):
        raise Unasked(
            "say what goes or comes: --remove, --remove-user, --remove-group, --add or"
            " --config"
        )

    def answer(now: Any, about: dict[str, Any]) -> tuple[int, str]:
        from secure_datasets.questions.differences import changes
        from secure_datasets.questions.edits import Edits
        from secure_datasets.questions.lookups import Lookups
        from secure_datasets.questions.resolution import resolved

        edits = Edits(Lookups(now))
        for given, edit in (
            (options.remove, edits.remove_row),
            (options.remove_user, edits.remove_user),
            (options.remove_group, edits.remove_group),
            (options.add, edits.add),
        ):
            for text in given:
                edit(text)
        folders = _folders(options)
        queries = edits.queries()
        then = resolved(
            now.state, folders, now.engine, OTHER, queries=queries, warn=_note
        )
        schemas = [now.state.values["schema"], OTHER]
        return _shown(options, changes(now, then, schemas, None, ""), about)

    return _asked(options, answer)


def _what_if_config(options: argparse.Namespace) -> int:
    def answer(now: Any, about: dict[str, Any]) -> tuple[int, str]:
        from secure_datasets.questions.configs import (
            edited_config,
            roles_without_a_group,
        )
        from secure_datasets.questions.differences import changes_of_config
        from secure_datasets.questions.resolution import resolved

        if now.state.values["project"] == PACKAGE:
            raise Unasked("--config is for a project that installs the package")
        edited = edited_config(now, _project(options).folder)
        for name in edited.not_compared:
            _note(f"the dataset {name} is in one of the configs alone: build it")
        for sentence in roles_without_a_group(now, edited):
            _note(f"{sentence}.")
        folders = _folders(options)
        then = resolved(
            now.state, folders, now.engine, OTHER, config=edited, warn=_note
        )
        schemas = [now.state.values["schema"], OTHER]
        found = changes_of_config(now, then, schemas, edited)
        return _shown(options, found, about)

    return _asked(options, answer)


def _shown(
    options: argparse.Namespace, found: Answer, about: dict[str, Any]
) -> tuple[int, str]:
    from secure_datasets.questions.output import as_text

    code = NO if found.is_no else YES
    if options.format == "text":
        return code, as_text(found)
    return code, _as_data(options, found, about)


def _as_data(options: argparse.Namespace, found: Answer, about: dict[str, Any]) -> str:
    from secure_datasets.questions.output import as_csv, as_document

    if options.format == "json":
        return as_document(found, about)
    if found.left_out:
        _note(found.left_out)
    return as_csv(found.tables)


# Cases of access


def _test(options: argparse.Namespace) -> int:
    from secure_datasets.cases.judging import judged
    from secure_datasets.cases.reading import CaseProblem, read_cases
    from secure_datasets.cases.report import lines_of
    from secure_datasets.engines.compiled import CASES, CompileError, kept_project

    project = _project(options)
    paths: list[Path] = []
    for path in map(Path, options.paths or [project.folder / CASES]):
        found = sorted(path.glob("*.y*ml")) if path.is_dir() else [path]
        paths += [file.resolve() for file in found]
        if not found:
            raise Unasked(f"{path} has no file of cases, <name>.yml")
    if not (options.paths or paths[0].is_file()):
        raise Unasked(f"{project.folder} has no case: write one in {CASES}/<name>.yml")
    try:
        cases = read_cases(paths, project.folder)
        kept = kept_project(project.folder, project.profiles, project.target, _note)
    except CaseProblem as problem:
        raise Unasked(str(problem)) from None
    except CompileError as failure:
        raise Unasked(f"dbt can't compile the project: {failure}") from None
    if options.engine == "spark":
        from secure_datasets.engines.spark import NoSession, SparkRelations

        try:
            session = SparkRelations(project)
            found = judged(cases, kept, lambda: session)
        except NoSession as why:
            raise Unasked(str(why)) from None
    else:
        found = judged(cases, kept)
    for line in lines_of(found.failures):
        print(line)
    for problem in found.problems:
        print(f"test: {problem}.", file=sys.stderr)
    failing = len({failure.case.name for failure in found.failures})
    print(
        f"{len(cases)} cases: {len(cases) - failing - len(found.problems)} hold,"
        f" {failing} fail, {len(found.problems)} say nothing that could fail"
    )
    return UNASKED if found.problems else NO if failing else YES


# The questions that dbt answers


def _dbt(options: argparse.Namespace, *arguments: str) -> int:
    """Call dbt on the project; return its answer as an exit code."""
    from secure_datasets.by_dbt import call

    return call(_project(options), list(arguments))


def _operation(options: argparse.Namespace, name: str, **given: Any) -> int:
    named = {key: value for key, value in given.items() if value is not None}
    return _dbt(options, "run-operation", name, "--args", json.dumps(named))


def _timeline(options: argparse.Namespace) -> int:
    _check_one(options, "user", "object")
    given = {name: vars(options)[name] for name in ("user", "object", "format")}

    def answer(package: Any, about: dict[str, Any]) -> tuple[int, str]:
        from secure_datasets.questions.timeline.quick import QuickTimelines

        package.timelines = QuickTimelines(package, _folders(options))
        package.timeline(**given)
        text = "\n".join(package.printed)
        if options.format == "json":
            text = json.dumps({**about, **json.loads(text)}, indent=2)
        return YES, text

    return _asked_of_dbt_else(options, answer, "timeline", **given)


def _as_of(options: argparse.Namespace) -> int:
    _check_moment(options.day)
    return _dbt(
        options,
        *(
            "build",
            "--selector",
            "access",
            "--vars",
            json.dumps({"as_of": options.day}),
        ),
        *("--exclude-resource-type", "test", "--exclude-resource-type", "unit_test"),
    )


def _diff(options: argparse.Namespace) -> int:
    if options.before.lower() == options.after.lower():
        raise Unasked(f"both states are '{options.before}': name two")
    states = {"before": options.before, "after": options.after}
    select = ("--select", "tag:access_changes")
    return _dbt(options, "build", *select, "--vars", json.dumps(states))


def _review(options: argparse.Namespace) -> int:
    given = {name: vars(options)[name] for name in ("owner", "user", *CAMPAIGN)}
    given["months"] = 0 if options.user else options.months

    def answer(package: Any, about: dict[str, Any]) -> tuple[int, str]:
        from secure_datasets.questions.lookups import Lookups
        from secure_datasets.questions.review import QuickReviews
        from secure_datasets.review.reviews import FOLDER

        asked = Lookups(package)
        called = {
            name: _called(asked, given[name]) for name in ("owner", "user")
            if given[name]
        }  # fmt: skip
        folder = _project(options).target_folder / FOLDER
        package.reviews = QuickReviews(package, folder, _folders(options))
        package.review(**given | called)
        return YES, "\n".join(package.printed)

    return _asked_of_dbt_else(options, answer, "review", **given)


def _asked_of_dbt_else(
    options: argparse.Namespace, answer: Any, operation: str, **given: Any
) -> int:
    """Answer with the quick engine, or with dbt if the quick engine can't."""
    # dbt knows only the target's own state.
    named = [f"--{name}" for name in ("schema", "state") if vars(options)[name]]
    if options.engine == "spark" and named:
        raise Unasked(f"dbt answers of the target's schema: leave out {named[0]}")
    if options.engine != "spark":
        try:
            return _asked(options, answer)
        except (NotQuick, Elsewhere) as why:
            if options.engine == "duckdb" or named:
                raise Unasked(str(why)) from None
            _note(f"asked of dbt, because {str(why).rstrip('.')}.")
    return _operation(options, operation, **given)


def _decisions(options: argparse.Namespace) -> int:
    from secure_datasets.review.decisions import main as add_decisions

    given = {"seed": options.seed, "by": options.by, "on": options.on}
    given["dates"] = options.dates
    failed = add_decisions(
        [*(f"--{name}={value}" for name, value in given.items()), "--", *options.tables]
    )
    return UNASKED if failed else YES


def _entry(dataset: str) -> str:
    """Return the name of a dataset's entry: the view's name without its prefix."""
    from secure_datasets.config.plan import PREFIX

    return dataset.removeprefix(PREFIX)


def _dataset(options: argparse.Namespace) -> str:
    """Return the named dataset; raise if the config has no such entry.

    The published state decides if the config has not changed since its run. If it has,
    the name passes, and dbt checks it.
    """
    name, project = _entry(options.dataset), _project(options)
    try:
        state = read_state(project.state_path(), VERSION)
    except NoState:
        return name
    config, files = state.document["config"], state.document["config_files"]
    # A project without a config may have one now; the state lists no SML files.
    is_told = any(file["package"] == project.name for file in files)
    is_told = is_told and state.values["project"] == project.name
    if name in config["datasets"] or not is_told or "sml_state" in config:
        return name
    if not any(_edits_of_config(state, project)):
        known = listed(name, config["datasets"])
        raise Unasked(f"there is no dataset '{name}'{known}")
    return name


def _print(options: argparse.Namespace) -> int:
    from secure_datasets.render.printing import DIALECTS

    if options.dialect not in DIALECTS:
        raise Unasked(
            f"unknown dialect '{options.dialect}'{listed(options.dialect, DIALECTS)}"
        )
    if not SQL_OF_USER.fullmatch(options.user.strip()):
        raise Unasked(
            f"--user '{options.user}' is no SQL for the id of whoever reads: write an"
            " id, such as 8, a parameter, such as :user_id, or a call, such as"
            " current_setting('app.user_id'); secure-datasets who tells a user's id"
        )
    return _operation(
        options,
        "print_predicate",
        dataset=_dataset(options),
        user=options.user,
        relation=options.relation,
        dialect=options.dialect,
    )


def _render(options: argparse.Namespace) -> int:
    from secure_datasets.config.problems import EngineProblem, check_engine
    from secure_datasets.render import grants, row_filters

    _check_one(options, "role", "dataset")
    engine, catalog = options.engine, options.catalog
    given = {name: vars(options)[name] for name in ("accounts", "schema")}
    for name in given if options.role else ("catalog",):
        if vars(options)[name]:
            other = "--dataset" if options.role else "--role"
            raise Unasked(f"--{name} is for {other} alone")
    try:
        if options.role:
            grants.check(engine, catalog, "--catalog <name>")
        else:
            check_engine(engine, row_filters.ENGINES)
    except EngineProblem as problem:
        raise Unasked(str(problem)) from None
    if options.role:
        named = {"role": options.role, "engine": engine, "catalog": catalog}
        return _operation(options, "render_grants", **named)
    named = {"dataset": _dataset(options), "engine": engine, **given}
    return _operation(options, "render_policies", **named)


def _check(options: argparse.Namespace) -> int:
    code = _operation(options, "check_project", replica=options.replica or None)
    return code or _check_roles(_project(options))


def _check_roles(project: Project) -> int:
    """Print the roles in policies that no group of the last run provides."""
    from secure_datasets.engines.duckdb import DuckDB, NotExact, NotThere, as_json
    from secure_datasets.questions.asked import QuestionError
    from secure_datasets.questions.configs import edited_config, roles_without_a_group
    from secure_datasets.questions.macros import Package

    try:
        state = read_state(project.state_path(), VERSION)
        if state.values["project"] == PACKAGE:
            # It has only the package's own config, which the tests cover.
            return YES
        check_files(state)
        now = Package(state, DuckDB(relations_of(state)), as_json, _note)
        found = roles_without_a_group(now, edited_config(now, project.folder))
    except (NoState, NotExact, NotThere, QuestionError) as why:
        _note(f"the roles of policies were not held against groups: {why}.")
        return YES
    for sentence in found:
        print(f"- {sentence}")
    return NO if found else YES


# Shells


def _completion(options: argparse.Namespace) -> int:
    import shtab

    top = parser()
    for command in _commands(top).values():
        for action in command._actions:
            if action.metavar in PATHS:
                action.complete = shtab.FILE
    print(shtab.complete(top, options.shell))
    return YES


if __name__ == "__main__":
    sys.exit(main())
