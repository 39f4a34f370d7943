"""Finds the config's file, the source line of each of its lines, and lost names.

The product's document is a block of a Jinja macro; a root project's additions are the
text of a macro. Both are rendered before they are read. Jinja silently drops undefined
names and its own comments, so both are refused. A second rendering, with a Jinja that
stops at an undefined name, finds the name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, NoReturn

import jinja2
from dbt_common.clients.jinja import get_environment
from jinja2 import nodes

from secure_datasets.config.plan import PACKAGE, PREFIX
from secure_datasets.config.problems import ConfigProblem, entry_of, told
from secure_datasets.config.reading import read

MACRO = "secure_datasets_config"
# The macro with a root project's additions; an adapter's prefix is possible too.
ADDED = f"default__{MACRO}"
# The file name, in tracebacks, of a macro that is rendered once more.
CODE = "<the config>"
# Replaces each lost part, to find its key: an otherwise unused character.
MARK = "\ue000"
COMMENT = (
    "a Jinja comment, which is gone before the text is read: write a YAML comment, or"
    " {% raw %} before and {% endraw %} after what is to stay"
)


@dataclass(frozen=True)
class Source:
    """The macro that holds a document; without one, lines are the document's own."""

    file: str | None = None
    macro: str = ""
    # The first line of the macro's text in the file.
    begins: int = 1

    def refuse_lost(self, context: Any) -> None:
        """Raise ConfigError if Jinja silently drops a part of the document."""
        from secure_datasets.config.errors import ConfigError

        if not self.macro or context is None:
            return
        self._refuse_cycle(context)
        line = next(comments(self.macro), None)
        if line:
            what, marked = COMMENT, rendered(with_marks(self.macro), context)
        else:
            name = undefined_name(self.macro, context)
            if not name:
                return
            what = f"the name '{name[0]}' in braces, which is not defined"
            marked, line = rendered(self.macro, context), name[1]
        entry, key = _marked_entry(marked)
        problem = ConfigProblem(entry, f"{key} has {what}".lstrip(), line=line)
        raise ConfigError(told([self._placed(problem, self.begins + line - 1)]))

    def _refuse_cycle(self, context: Any) -> None:
        """Raise ConfigError if a rule reads a secure dataset, directly or via models.

        Each secure dataset renders the whole document, so it depends on the references
        of all rules.
        """
        from secure_datasets.config.errors import ConfigError

        seen: list[str] = []

        def refused(way: list[str]) -> str:
            seen.append(", which reads ".join(f"'{name}'" for name in way))
            return MARK

        def ref(*names: Any, **options: Any) -> Any:
            way = way_to_a_dataset(str(names[-1]), manifest, own) if names else []
            return refused(way) if way else context["ref"](*names, **options)

        def source(*names: Any) -> Any:
            way = way_to_a_dataset(".".join(map(str, names)), manifest, own)
            return refused(way) if way else context["source"](*names)

        def called(name: str) -> Callable[..., Any]:
            def call(*arguments: Any, **options: Any) -> Any:
                # dbt records the references of a macro with the model.
                before = len(noted())
                made = context[name](*arguments, **options)
                read = noted()[before:]
                ways = [way_to_a_dataset(each, manifest, own) for each in read]
                way = next(filter(None, ways), None)
                return refused([name, *way]) if way else made

            return call

        def noted() -> list[str]:
            return [each.name for each in getattr(model, "refs", ())]

        manifest = getattr(context.get("ref"), "manifest", None)
        if manifest is None:
            return
        # A rule can't read the model that renders the document either.
        model = getattr(context["ref"], "model", None)
        own = getattr(model, "name", "")
        macros = {name: called(name) for name in _macros_called(self.macro, context)}
        marked = rendered(
            self.macro, {**context, **macros, "ref": ref, "source": source}
        )
        if not seen or not marked:
            return
        entry, key = _marked_entry(marked)
        line = marked[: marked.index(MARK)].count("\n") + 1 if MARK in marked else 1
        problem = ConfigProblem(
            entry,
            f"{key} reads {seen[0]}: every secure dataset would depend on itself; read"
            " its base, or a model below it",
        )
        line = self.begins - 1 + line_in_macro(self.macro, marked, line)
        raise ConfigError(told([self._placed(problem, line)]))

    def sentence(self, problem: ConfigProblem, text: str) -> str:
        """Return the sentence that stops dbt."""
        return told([self.said(problem, text)])

    def said(self, problem: ConfigProblem, text: str) -> str:
        """Return a mistake with its entry and its place."""
        return self._placed(problem, self._line(problem.line, text))

    def place(self, line: int | None, text: str) -> str:
        """Return the place of a line of the document: `line 12 of <file>`."""
        return self._place(self._line(line, text))

    def _line(self, line: int | None, text: str) -> int | None:
        if line is None or not self.macro:
            return line
        return self.begins - 1 + line_in_macro(self.macro, text, line)

    def _place(self, line: int | None) -> str:
        place = f"line {line}" if line else ""
        return place + (f"{' of ' if place else ''}{self.file}" if self.file else "")

    def _placed(self, problem: ConfigProblem, line: int | None) -> str:
        entry, place = problem.entry or entry_of(problem.path), self._place(line)
        return f"{entry}: {problem.problem}{f' ({place})' if place else ''}"


@lru_cache(maxsize=16)
def _block(macro: str) -> nodes.AssignBlock | None:
    """Return the first block that a macro assigns."""
    try:
        template = get_environment(None, capture_macros=False).parse(macro)
    except jinja2.TemplateSyntaxError:
        return None
    return next(iter(template.find_all(nodes.AssignBlock)), None)


@lru_cache(maxsize=64)
def _line_map(macro: str, text: str) -> tuple[int, ...]:
    """Return, for each line of a rendered document, the line of the macro."""
    block = _block(macro)
    first = block.lineno if block is not None else 1
    written = macro.split("\n")[first - 1 :]
    rendered = text.split("\n")
    lines = [0] * len(rendered)
    matcher = SequenceMatcher(None, rendered, written, autojunk=False)
    for mine, other, size in matcher.get_matching_blocks():
        for offset in range(size):
            lines[mine + offset] = first + other + offset
    # A line that rendering has changed follows the line before it.
    for number, line in enumerate(lines):
        lines[number] = line or (lines[number - 1] + 1 if number else first)
    return tuple(lines)


def line_in_macro(macro: str, text: str, line: int) -> int:
    """Return the source line in a macro for a line of its rendered document."""
    lines = _line_map(macro, text)
    return lines[min(line, len(lines)) - 1]


def _tokens(macro: str) -> Iterator[tuple[int, str, str, bool]]:
    """Yield the line, kind and text of each token of a macro.

    The last item: whether the token is in a block that the macro assigns.
    """
    tag: list[tuple[str, str]] = []
    # A macro without a block is the document itself.
    opens = "set" if _block(macro) is not None else "macro"
    is_in_block = False
    for line, kind, text in get_environment(None, capture_macros=False).lex(macro):
        yield line, kind, text, is_in_block
        if kind == "block_begin":
            tag = []
        elif kind == "block_end":
            (_, name), *rest = [part for part in tag if part[0] != "whitespace"]
            begins = name == opens and (
                opens == "macro" or ("operator", "=") not in rest
            )
            is_in_block = begins or (is_in_block and name != f"end{opens}")
        else:
            tag.append((kind, text))


def comments(macro: str) -> Iterator[int]:
    """Yield the first line of each comment in the blocks that a macro assigns."""
    for line, kind, _, is_in_block in _tokens(macro):
        if kind == "comment_begin" and is_in_block:
            yield line


def with_marks(macro: str) -> str:
    """Return a macro with a mark instead of each comment in such blocks."""
    return "".join(
        text
        if not (is_in_block and kind.startswith("comment"))
        else MARK
        if kind == "comment_begin"
        else ""
        for _, kind, text, is_in_block in _tokens(macro)
    )


def way_to_a_dataset(name: str, manifest: Any, own: str = "") -> list[str]:
    """Return the path from a model to a secure dataset that it reads; empty if none.

    `own` is a further model that counts as a secure dataset.

    While dbt parses, a parsed model has its references; the file of an unparsed model
    is read for them.
    """
    ways, known = [[name]], {name}
    refs = _refs_of_models(manifest)
    while ways:
        way = ways.pop(0)
        if way[-1].startswith(PREFIX) or way[-1] == own:
            return way
        for further in refs(way[-1]):
            if further not in known:
                known.add(further)
                ways.append([*way, further])
    return []


def _macros_called(macro: str, context: Any) -> set[str]:
    """Return the macros that the document of a macro calls, without built-ins."""
    block = _block(macro)
    try:
        tree = block or get_environment(None, capture_macros=False).parse(macro)
    except jinja2.TemplateSyntaxError:
        return set()
    return {
        call.node.name
        for call in tree.find_all(nodes.Call)
        if isinstance(call.node, nodes.Name)
        and hasattr(context.get(call.node.name), "macro")
    }


def _refs_of_models(manifest: Any) -> Callable[[str], list[str]]:
    """Return a function from a model's name to the models and sources that it reads.

    A source over a model's relation leads to this model. The name of a source is
    `<source>.<table>`.
    """
    every = getattr(manifest, "nodes", {}).values()
    built = [node for node in every if node.resource_type in ("model", "snapshot")]
    nodes_by_name = {
        node.name: [each.name for each in getattr(node, "refs", ())]
        + [".".join(each) for each in getattr(node, "sources", ())]
        for node in built
    }
    by_relation = {_relation_of(node, node.alias): node.name for node in built}
    for source in getattr(manifest, "sources", {}).values():
        if published := by_relation.get(_relation_of(source, source.identifier)):
            nodes_by_name[f"{source.source_name}.{source.name}"] = [published]
    for file in getattr(manifest, "files", {}).values():
        for snapshot in (getattr(file, "dfy", None) or {}).get("snapshots") or ():
            read = f"{{{{ {snapshot.get('relation')} }}}}"
            nodes_by_name.setdefault(snapshot.get("name"), _refs_in(read))
    files = {
        Path(file.path.relative_path).stem: file
        for file in getattr(manifest, "files", {}).values()
        if str(file.path.relative_path).endswith(".sql")
    }

    def refs(name: str) -> list[str]:
        if nodes_by_name.get(name):
            return nodes_by_name[name]
        return _refs_in(getattr(files.get(name), "contents", None) or "")

    return refs


def _relation_of(node: Any, name: str) -> tuple[str, str]:
    return node.schema.lower(), name.lower()


@lru_cache(maxsize=1024)
def _refs_in(text: str) -> list[str]:
    """Return the models in a text's calls of ref() with a constant name."""
    try:
        template = get_environment(None, capture_macros=False).parse(text)
    except jinja2.TemplateSyntaxError:
        return []
    return [
        str(call.args[-1].value)
        for call in template.find_all(nodes.Call)
        if isinstance(call.node, nodes.Name)
        and call.node.name == "ref"
        and call.args
        and isinstance(call.args[-1], nodes.Const)
    ]


def _marked_entry(document: str | None) -> tuple[str, str]:
    """Return the entry and the quoted key of the first mark."""
    try:
        found = read(document or "")
    except ConfigProblem:
        return "the config", ""
    for path, text in found.spelled.items():
        if MARK in text and None not in path:
            key = next((step for step in reversed(path) if isinstance(step, str)), "")
            entry = entry_of(path)
            # The name of a policy has its role and resource, if both are there.
            with suppress(KeyError, TypeError):
                entry = entry_of(path, found.values)
            return entry.replace(MARK, ""), f"'{key}'"
    return "the config", ""


class _LostName(Exception):
    """An undefined name, which Jinja would drop silently."""


class _Lost(jinja2.StrictUndefined):
    """An undefined value that raises when it is written or looked into."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._undefined_exception = partial(_lost, self._undefined_name)


def _lost(name: Any, message: str) -> _LostName:
    return _LostName(str(name))


class _Marked(jinja2.ChainableUndefined):
    """An undefined value that is written as a mark."""

    def __str__(self) -> str:
        return MARK

    def __call__(self, *_: Any, **__: Any) -> _Marked:
        return self


class _Read(Exception):
    """Raised when the macro hands on its document."""

    def __init__(self, document: Any = None) -> None:
        super().__init__()
        self.document = document


class _Adapter:
    """A macro's adapter, which does not read the document again."""

    def __init__(self, adapter: Any) -> None:
        self.adapter = adapter

    def __getattr__(self, name: str) -> Any:
        return getattr(self.adapter, name)

    def secure_datasets(self) -> _Adapter:
        """Return the object with the `read` that macros call."""
        return self

    def read(self, document: Any, *_: Any) -> NoReturn:
        """Stop the macro, and keep the document."""
        raise _Read(document)


def _end(document: Any = None) -> NoReturn:
    raise _Read(document)


@lru_cache(maxsize=16)
def _program(
    macro: str, undefined: type[jinja2.Undefined]
) -> tuple[jinja2.Template, nodes.Template] | None:
    """Return a macro's compiled and parsed body, with a class for undefined names.

    None if the text can't be parsed, or has no macro.
    """
    environment = get_environment(None, capture_macros=False)
    environment.undefined = undefined
    try:
        parsed = environment.parse(macro)
    except jinja2.TemplateSyntaxError:
        return None
    macros = [node for node in parsed.body if isinstance(node, nodes.Macro)]
    if not macros:
        return None
    body = nodes.Template(macros[0].body, lineno=1)
    body.set_environment(environment)
    code = environment.compile(body, name=CODE, filename=CODE)
    template = jinja2.Template.from_code(environment, code, environment.globals)
    return template, body


def _run(template: jinja2.Template, context: Any) -> str | None:
    """Return the document that a macro hands to `read`, or that it renders."""
    own = {"return": _end, "adapter": _Adapter(context.get("adapter"))}
    try:
        parts = template.root_render_func(template.new_context({**context, **own}))
        return "".join(parts)
    except _Read as found:
        return found.document if isinstance(found.document, str) else None


def rendered(macro: str, context: Any) -> str | None:
    """Return a macro's document with a mark instead of each undefined name."""
    program = _program(macro, _Marked)
    try:
        return _run(program[0], context) if program else None
    except jinja2.UndefinedError:
        return None


def undefined_name(macro: str, context: Any) -> tuple[str, int] | None:
    """Return the first undefined name in a macro, with its line; else none.

    Undefined names inside called macros are not searched.
    """
    program = _program(macro, _Lost)
    if program is None:
        return None
    template, body = program
    try:
        _run(template, context)
    except _LostName as lost:
        line, trace = 1, lost.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == CODE:
                line = template.get_corresponding_lineno(trace.tb_lineno)
            trace = trace.tb_next
        return _spelled_at(body, str(lost), line), line
    return None


def _spelled_at(body: nodes.Template, name: str, line: int) -> str:
    """Return a name with its qualifiers, as the macro spells it."""
    for node in body.find_all((nodes.Getattr, nodes.Getitem)):
        if node.lineno == line and _last(node) == name:
            return _spelled(node)
    return name


def _last(node: nodes.Getattr | nodes.Getitem) -> str | None:
    """Return the last name of a chain."""
    if isinstance(node, nodes.Getattr):
        return node.attr
    return str(node.arg.value) if isinstance(node.arg, nodes.Const) else None


def _spelled(node: nodes.Node) -> str:
    """Return a chain of names as the macro spells it."""
    if isinstance(node, nodes.Name):
        return node.name
    if isinstance(node, nodes.Getattr):
        return f"{_spelled(node.node)}.{node.attr}"
    if isinstance(node, nodes.Getitem):
        return f"{_spelled(node.node)}[{_last(node)}]"
    if isinstance(node, nodes.Call):
        return f"{_spelled(node.node)}(...)"
    return "(...)"


def source_of(manifest: Any, root: str | None, added: Any = None) -> Source:
    """Return the source of the product's document, or of a root project's additions."""
    macros = getattr(manifest, "macros", {})
    macro = added or macros.get(f"macro.{PACKAGE}.{MACRO}")
    if macro is None:
        return Source()
    file = macro.original_file_path
    if macro.package_name != root:
        file += f" of the package {macro.package_name}"
    begins = _begins(Path(_root(manifest, macro)), macro)
    return Source(file, macro.macro_sql, begins)


@cache
def is_misspelt(name: str) -> bool:
    """Whether the name of a macro is nearly the config's."""
    return bool(get_close_matches(name, (MACRO, ADDED), cutoff=0.95))


def not_taken(manifest: Any, added: Any) -> Iterator[str]:
    """Yield a sentence for each macro that looks like the config, but is not read."""
    for macro in getattr(manifest, "macros", {}).values():
        is_config = macro.name == MACRO or macro.name.endswith(f"__{MACRO}")
        if (
            (is_config or is_misspelt(macro.name))
            and macro.package_name != PACKAGE
            and macro is not added
        ):
            yield (
                f"{MACRO}: the config: the macro '{macro.name}' of the project"
                f" '{macro.package_name}' is not read: what a root project adds to the"
                f" product's datasets is the macro '{ADDED}'"
                f" ({macro.original_file_path})."
            )


def is_noticed(manifest: Any, added: Any) -> bool:
    """Whether dbt has parsed the datasets with the macro that adds to the config.

    dbt parses only changed files, and does not notice that a new macro overrides the
    product's own.
    """
    macro = getattr(manifest, "macros", {}).get(f"macro.{PACKAGE}.{MACRO}")
    return added is None or macro is None or added.unique_id in macro.depends_on.macros


def _root(manifest: Any, macro: Any) -> str:
    """Return the root folder of a macro's file path."""
    for file in getattr(manifest, "files", {}).values():
        if macro.unique_id in getattr(file, "macros", ()):
            return file.path.project_root
    return ""


def _begins(root: Path, macro: Any) -> int:
    """Return the first line of a macro in its file."""
    try:
        text = (root / macro.original_file_path).read_text(encoding="utf-8")
    except OSError:
        return 1
    return text.count("\n", 0, max(text.find(macro.macro_sql), 0)) + 1
