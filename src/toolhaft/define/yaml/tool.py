"""The tool that a YAML file makes: its fields, and the handler that its `run` or its endpoint asks for.

Does not know text; files and their problems are read elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeVar, cast

from toolhaft.core.options import Options
from toolhaft.core.tool import OPTION_NAMES, Tool
from toolhaft.define.running.faults import Faults
from toolhaft.define.running.handlers import OWN_HANDLERS, Handler, Wanted, handler_of, hosts_of, preview_of
from toolhaft.define.running.parameters import parameters_of
from toolhaft.define.running.spec import RunSpec, read_run
from toolhaft.define.yaml.definition import Definition
from toolhaft.define.yaml.fields import OWN_FIELDS, check_field
from toolhaft.errors import DefinitionError, ToolValidationError
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.problems import InvalidArguments

ParamsT = TypeVar("ParamsT")
ResultT = TypeVar("ResultT")

_put = object.__setattr__


class YamlTool(Tool[ParamsT, ResultT]):
    """A tool from a YAML file: its `id` is the tool's name, its `name` the title.

    Beside what every tool has, it has the fields of the file that no other door knows, and the `text`
    itself, so that `dump_tool` keeps comments, quotes and the order of keys. A file that says
    `is_active: false` makes a tool without a handler.
    """

    __slots__ = (*OWN_FIELDS, "folder", "run", "says_active", "text")

    owner: str | None
    share: Literal["private", "org", "public"]
    created_at: str | None
    updated_at: str | None
    is_active: bool
    endpoint: str | None
    run: RunSpec | None
    """How the file says that it is run; without it the endpoint is called, if there is one."""
    says_active: bool | None
    """What the file says of `is_active`; None where it says nothing."""
    folder: str | None
    """Where the file is; its project's `.env` and working directory are found from there."""
    text: str

    def __init__(self, *, definition: Definition, text: str, source: str, folder: str | None = None) -> None:
        fields = definition.fields
        options = {key: value for key, value in fields.items() if key in OPTION_NAMES}
        says_active = cast("bool | None", fields.get("is_active"))
        wanted = Wanted(
            run=definition.run,
            endpoint=cast("str | None", fields.get("endpoint")),
            is_off=says_active is False,
            folder=folder,
            parameters=parameters_of(definition.input_schema, definition.output_schema),
        )
        super().__init__(
            name=cast("str", fields["id"]),
            description=cast("str", fields["description"]),
            input_schema=definition.input_schema,
            output_schema=definition.output_schema,
            handler=cast("None", handler_of(wanted)),  # called with a dict, not as a typed handler
            **cast("Options", {**options, "title": fields["name"]}),
        )
        for key, (_, default) in OWN_FIELDS.items():
            _put(self, key, fields.get(key, default))
        _put(self, "run", definition.run)
        _put(self, "says_active", says_active)
        _put(self, "folder", folder)
        _put(self, "text", text)
        _put(self, "source", source)

    @property
    def hosts(self) -> tuple[str, ...]:
        """The `host:port` that its `run` or its endpoint names; none for a program or a function."""
        return hosts_of(self._wanted({}))

    def preview(self, arguments: object) -> JSONObject:
        """What a call would do, without doing it; secrets are shown as `${env:NAME}`.

        Raises:
            ToolValidationError: where the arguments are not valid, with what a model would be told.
        """
        verdict = self.validate(arguments)
        if isinstance(verdict, InvalidArguments):
            raise ToolValidationError(verdict.message)
        return preview_of(self._wanted({}), cast("Mapping[str, object]", verdict.params))

    def replace(self, **changes: object) -> YamlTool[ParamsT, ResultT]:
        """The same tool with other words, policy or fields of its file; its parameters stay as they are."""
        try:
            own = {key: check_field(key, changes.pop(key)) for key in OWN_FIELDS if key in changes}
            if "run" in changes:
                own["run"] = self._checked_run(changes.pop("run"))
        except DefinitionError as error:
            raise error.of(self.name) from error.__cause__
        if "is_active" in own:
            own["says_active"] = own["is_active"]
        is_own = self.handler is None or isinstance(self.handler, OWN_HANDLERS)
        if own and "handler" not in changes:
            if own.get("is_active") is False:
                changes["handler"] = None  # whoever made the handler: nothing is run
            elif is_own:
                changes["handler"] = self._handler(own)
        copy = cast("YamlTool[ParamsT, ResultT]", super().replace(**changes))
        for key, value in own.items():
            _put(copy, key, value)
        return copy

    def _handler(self, own: Mapping[str, object]) -> Handler | None:
        """The handler for other fields; the same one where they ask for the same."""
        wanted = self._wanted(own)
        return cast("Handler | None", self.handler) if wanted == self._wanted({}) else handler_of(wanted)

    def _wanted(self, own: Mapping[str, object]) -> Wanted:
        return Wanted(
            run=cast("RunSpec | None", own.get("run", self.run)),
            endpoint=cast("str | None", own.get("endpoint", self.endpoint)),
            is_off=own.get("says_active", self.says_active) is False,
            folder=self.folder,
            parameters=parameters_of(self.input_schema, self.output_schema),
        )

    def _checked_run(self, value: object) -> RunSpec | None:
        if value is None or isinstance(value, RunSpec):
            return value
        faults = Faults()
        parameters = parameters_of(self.input_schema, self.output_schema, self.effect)
        made = read_run(cast("JSONValue", value), parameters, faults)
        for fault in faults.found:
            if fault.level == "error":
                raise DefinitionError(fault.what, place="run", fix=fault.fix)
        return made

    def _blank(self) -> Tool[ParamsT, ResultT]:
        copy = super()._blank()
        for slot in YamlTool.__slots__:
            _put(copy, slot, getattr(self, slot))
        return copy
