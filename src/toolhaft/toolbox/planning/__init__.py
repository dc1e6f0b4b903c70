"""A plan in the session: four tools to make it and work through it, with the text that explains them."""

from toolhaft._lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.toolbox.planning.events import AddStep as AddStep
    from toolhaft.toolbox.planning.events import ReadPlan as ReadPlan
    from toolhaft.toolbox.planning.events import SetupPlan as SetupPlan
    from toolhaft.toolbox.planning.events import UpdateStep as UpdateStep
    from toolhaft.toolbox.planning.plan import Plan as Plan
    from toolhaft.toolbox.planning.plan import PlanStatus as PlanStatus
    from toolhaft.toolbox.planning.plan import PlanStep as PlanStep
    from toolhaft.toolbox.planning.plan import StepStatus as StepStatus
    from toolhaft.toolbox.planning.printing import print_plan as print_plan
    from toolhaft.toolbox.planning.section import PlanningToolsSection as PlanningToolsSection
    from toolhaft.toolbox.planning.strategies import PlanningStrategy as PlanningStrategy

_HOMES = {
    "AddStep": "events",
    "Plan": "plan",
    "PlanStatus": "plan",
    "PlanStep": "plan",
    "PlanningStrategy": "strategies",
    "PlanningToolsSection": "section",
    "ReadPlan": "events",
    "SetupPlan": "events",
    "StepStatus": "plan",
    "UpdateStep": "events",
    "print_plan": "printing",
}
__all__ = [*_HOMES]  # noqa: PLE0604 -- the sorted names above, said once # pyright: ignore[reportUnsupportedDunderAll] -- the same
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)
