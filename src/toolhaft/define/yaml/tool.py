"""YamlTool: the tool that a YAML file defines, with the handler that its `run` or its endpoint needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self, TypeVar, cast

from toolhaft.core.options import Options
from toolhaft.core.tool import OPTION_NAMES, Tool
from toolhaft.define.running.parameters import RunProblems, parameters_of
from toolhaft.define.running.run_block import (
    RUN_HANDLERS,
    RunHandler,
    RunSetup,
    RunSpec,
    handler_of,
    hosts_of,
    preview_of,
    read_run,
    sends_of,
)
from toolhaft.define.yaml.definition import YamlDefinition
from toolhaft.define.yaml.fields import OWN_FIELDS, check_field
from toolhaft.errors import DefinitionError, ToolValidationError
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.problems import InvalidArguments

ParamsT = TypeVar("ParamsT")
ResultT = TypeVar("ResultT")

_put = object.__setattr__


class YamlTool(Tool[ParamsT, ResultT]):
    """A tool from a YAML file: its `id` is the tool's name, its `name` the title.

    It also has the fields that only YAML tools have, and the `text` of the file, so that `dump_tool` keeps
    comments, quotes and the order of keys. A file with `is_active: false` makes a tool without a handler.
    """

    __slots__ = (*OWN_FIELDS, "folder", "run", "is_active_in_file", "text")

    owner: str | None
    share: Literal["private", "org", "public"]
    created_at: str | None
    updated_at: str | None
    endpoint: str | None
    run: RunSpec | None
    """The `run` block; without it the endpoint is called, if there is one."""
    is_active_in_file: bool | None
    """The value of `is_active` in the file; None if it is not there."""
    folder: str | None
    """The folder of the file, which leads to the project's `.env` and working directory."""
    text: str

    def __init__(
        self, *, definition: YamlDefinition, text: str, source: str, folder: str | None = None
    ) -> None:
        fields = definition.fields
        options = {key: value for key, value in fields.items() if key in OPTION_NAMES}
        is_active_in_file = cast("bool | None", fields.get("is_active"))
        setup = RunSetup(
            run=definition.run,
            endpoint=cast("str | None", fields.get("endpoint")),
            is_off=is_active_in_file is False,
            folder=folder,
            parameters=parameters_of(definition.input_schema, definition.output_schema),
        )
        Tool.__init__(  # the class is generic, the tool is not typed
            cast("Tool[dict[str, Any], Any]", self),
            name=cast("str", fields["id"]),
            description=cast("str", fields["description"]),
            input_schema=definition.input_schema,
            output_schema=definition.output_schema,
            handler=cast("None", handler_of(setup)),  # called with a dict, not as a typed handler
            **cast("Options", {**options, "title": fields["name"]}),
        )
        for key, (_, default) in OWN_FIELDS.items():
            _put(self, key, fields.get(key, default))
        _put(self, "run", definition.run)
        _put(self, "is_active_in_file", is_active_in_file)
        _put(self, "folder", folder)
        _put(self, "text", text)
        _put(self, "source", source)

    @property
    def hosts(self) -> tuple[str, ...]:
        """The `host:port` of its `run` block or its endpoint; none for a program or a function."""
        return hosts_of(self._setup({}))

    @property
    def sends(self) -> tuple[tuple[str, str], ...]:
        """The environment variables that a call sends, each to the origin of a URL, or to `argv:PROGRAM`."""
        return sends_of(self.run)

    def preview(self, arguments: object) -> JSONObject:
        """Describe what a call would do; secrets are shown as `${env:NAME}`.

        Raises:
            ToolValidationError: if the arguments are not valid, with the message for the model.
        """
        result = self.validate(arguments)
        if isinstance(result, InvalidArguments):
            raise ToolValidationError(result.message)
        return preview_of(self._setup({}), cast("Mapping[str, object]", result.params))

    def replace(self, **changes: object) -> Self:
        """Return a copy with other texts, policy or fields of the file; the parameters stay the same.

        `is_active=False` switches the tool off; None takes `is_active` out of the file.
        """
        try:
            yaml_fields = {key: check_field(key, changes.pop(key)) for key in OWN_FIELDS if key in changes}
            if "is_active" in changes:
                switch = changes.pop("is_active")
                yaml_fields["is_active_in_file"] = (
                    None if switch is None else check_field("is_active", switch)
                )
            if "run" in changes:
                yaml_fields["run"] = self._checked_run(changes.pop("run"))
        except DefinitionError as error:
            raise error.of(self.name) from error.__cause__
        is_own = self.handler is None or isinstance(self.handler, RUN_HANDLERS)
        if yaml_fields and "handler" not in changes:
            if yaml_fields.get("is_active_in_file") is False:
                changes["handler"] = None  # even if the handler was replaced by the caller
            elif is_own:
                changes["handler"] = self._handler(yaml_fields)
        copy = super().replace(**changes)
        for key, value in yaml_fields.items():
            _put(copy, key, value)
        return copy

    def _handler(self, yaml_fields: Mapping[str, object]) -> RunHandler | None:
        """Return the handler for changed fields; the same one if nothing relevant changed."""
        setup = self._setup(yaml_fields)
        return cast("RunHandler | None", self.handler) if setup == self._setup({}) else handler_of(setup)

    def _setup(self, yaml_fields: Mapping[str, object]) -> RunSetup:
        return RunSetup(
            run=cast("RunSpec | None", yaml_fields.get("run", self.run)),
            endpoint=cast("str | None", yaml_fields.get("endpoint", self.endpoint)),
            is_off=yaml_fields.get("is_active_in_file", self.is_active_in_file) is False,
            folder=self.folder,
            parameters=parameters_of(self.input_schema, self.output_schema),
        )

    def _checked_run(self, value: object) -> RunSpec | None:
        if value is None or isinstance(value, RunSpec):
            return value
        problems = RunProblems()
        parameters = parameters_of(self.input_schema, self.output_schema, self.effect)
        made = read_run(cast("JSONValue", value), parameters, problems)
        for problem in problems.found:
            if problem.level == "error":
                raise DefinitionError(problem.what, place="run", fix=problem.fix)
        return made

    def _blank(self) -> Self:
        copy = super()._blank()
        for slot in YamlTool.__slots__:
            _put(copy, slot, getattr(self, slot))
        return copy
