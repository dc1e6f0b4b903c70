"""A plan in the session: four tools to make it and work through it, with the text that explains them."""

from toolhaft._lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.toolbox.planning.plan import AddStep as AddStep
    from toolhaft.toolbox.planning.plan import Plan as Plan
    from toolhaft.toolbox.planning.plan import PlanStatus as PlanStatus
    from toolhaft.toolbox.planning.plan import PlanStep as PlanStep
    from toolhaft.toolbox.planning.plan import ReadPlan as ReadPlan
    from toolhaft.toolbox.planning.plan import SetupPlan as SetupPlan
    from toolhaft.toolbox.planning.plan import StepStatus as StepStatus
    from toolhaft.toolbox.planning.plan import UpdateStep as UpdateStep
    from toolhaft.toolbox.planning.plan import print_plan as print_plan
    from toolhaft.toolbox.planning.section import PlanningStrategy as PlanningStrategy
    from toolhaft.toolbox.planning.section import PlanningToolsSection as PlanningToolsSection

_HOMES = {
    "AddStep": "plan",
    "Plan": "plan",
    "PlanStatus": "plan",
    "PlanStep": "plan",
    "PlanningStrategy": "section",
    "PlanningToolsSection": "section",
    "ReadPlan": "plan",
    "SetupPlan": "plan",
    "StepStatus": "plan",
    "UpdateStep": "plan",
    "print_plan": "plan",
}
__all__ = [*_HOMES]  # noqa: PLE0604 -- the sorted names above # pyright: ignore[reportUnsupportedDunderAll] -- the same
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)
