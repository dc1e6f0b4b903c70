"""A model of planning in plain lists and dictionaries: the expected content of a session after any calls.

Written from the issue's rules alone; shares no code with the suite.
"""

import copy

STATUSES = ("pending", "in_progress", "done")


class RefusedError(Exception):
    """The call, or the event, is refused; `kind` is that of the failure."""

    def __init__(self, kind="invalid_arguments"):
        super().__init__(kind)
        self.kind = kind


class PlanModel:
    """The plan: None, or its objective, a list of [id, title, status], and the last id of the session."""

    def __init__(self):
        self.plan = None

    def told(self):
        """Objective, status and steps, as `told_of` says them of a real plan."""
        if self.plan is None:
            return None
        steps = [tuple(step) for step in self.plan["steps"]]
        return self.plan["objective"], "completed" if self.is_completed() else "active", steps

    def is_completed(self):
        steps = self.plan["steps"]
        return bool(steps) and all(status == "done" for _, _, status in steps)

    def change(self, name, arguments, *, read_only=False):
        """What an event does, or a call whose arguments have the right shape."""
        if name == "read_plan":
            if self.plan is None:
                raise RefusedError
            return
        if read_only:
            raise RefusedError("failed")
        if name != "setup_plan" and (self.plan is None or self.is_completed()):
            raise RefusedError
        getattr(self, name)(**arguments)

    def setup_plan(self, objective, initial_steps=()):
        last = self.last_id()
        made = {"objective": stripped(objective), "steps": [], "last": last + len(initial_steps)}
        for number, title in enumerate(initial_steps, last + 1):
            made["steps"].append([number, stripped(title), "pending"])
        self.plan = made

    def last_id(self):
        return 0 if self.plan is None else self.plan["last"]

    def add_step(self, steps):
        titles = [stripped(title) for title in steps]
        if not titles:
            raise RefusedError
        for title in titles:
            self.plan["last"] += 1
            self.plan["steps"].append([self.plan["last"], title, "pending"])

    def update_step(self, step_id, title=None, status=None):
        if title is None and status is None:
            raise RefusedError
        new_title = None if title is None else stripped(title)
        if step_id not in [step[0] for step in self.plan["steps"]]:
            raise RefusedError
        (step,) = (step for step in self.plan["steps"] if step[0] == step_id)
        step[1] = step[1] if new_title is None else new_title
        step[2] = step[2] if status is None else status

    def bring(self, objective, status, steps):
        """What a plan does that a host made: 'ok', or the kind of the refusal."""
        try:
            made = {
                "objective": stripped(objective),
                "steps": [[number, stripped(title), is_at] for number, title, is_at in steps],
            }
        except RefusedError as error:
            return error.kind
        ids = [number for number, _, _ in steps]
        known = status in ("active", "completed") and all(is_at in STATUSES for _, _, is_at in steps)
        if not known or ids != sorted(set(ids)) or min(ids, default=1) < 1:
            return "invalid_arguments"
        self.plan = {**made, "last": max([self.last_id(), *ids])}
        return "ok"

    def run(self, script, *, read_only=False):
        """What a script does: the kind of its failure or 'ok', and what it saw."""
        before = copy.deepcopy(self.plan)
        read_only = read_only or script["tool"] == "script_reading"
        try:
            seen = [self._part(part, read_only=read_only) for part in script["parts"]]
        except RefusedError as error:
            self.plan = before
            return error.kind, None
        if script["ending"] != "return":
            self.plan = before
            return {"hang": "timeout"}.get(script["ending"], "failed"), None
        return "ok", seen

    def call(self, name, arguments, *, read_only=False):
        """What one call of a planning tool does: the kind of its failure, or 'ok'."""
        if name.startswith("wrong:"):
            return "invalid_arguments"
        before = copy.deepcopy(self.plan)
        try:
            self.change(name, arguments, read_only=read_only)
        except RefusedError as error:
            self.plan = before
            return error.kind
        return "ok"

    def _part(self, part, *, read_only):
        match part:
            case ["event", name, arguments]:
                self.change(name, arguments, read_only=read_only)
                return "done"
            case ["tried", name, arguments]:
                return self.call(name, arguments, read_only=read_only)
            case ["call", name, arguments]:
                return self.call(name, arguments, read_only=read_only)
            case ["nest", script]:
                return self.run(script, read_only=read_only)[0]
        raise AssertionError(part)


def stripped(text):
    text = text.strip()
    if not 1 <= len(text) <= 500 or not any(letter.isprintable() for letter in text if letter != " "):
        raise RefusedError
    return text


def told_of(plan):
    """A real plan as the model says its own."""
    if plan is None:
        return None
    return plan.objective, plan.status, [(step.step_id, step.title, step.status) for step in plan.steps]
