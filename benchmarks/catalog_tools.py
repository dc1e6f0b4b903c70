"""Generates five thousand tool listings, always the same ones, for the search benchmark."""

from toolhaft.catalog.listing import Listing

COUNT = 5_000

_SERVICES = {
    "github": "code hosting", "gitlab": "code hosting", "jira": "issue tracking", "linear": "issue tracking",
    "slack": "team chat", "teams": "team chat", "discord": "team chat", "gmail": "email", "outlook": "email",
    "stripe": "payments", "paypal": "payments", "shopify": "online shops", "salesforce": "customer records",
    "hubspot": "customer records", "zendesk": "customer support", "notion": "notes and documents",
    "confluence": "notes and documents", "drive": "file storage", "dropbox": "file storage",
    "postgres": "databases", "mysql": "databases", "snowflake": "warehouses", "bigquery": "warehouses",
    "aws": "cloud machines", "azure": "cloud machines", "cloudflare": "domains and delivery",
    "kubernetes": "containers", "datadog": "monitoring", "pagerduty": "incidents", "calendar": "appointments",
    "zoom": "video meetings", "twilio": "phone and text messages", "maps": "places and routes",
    "weather": "forecasts", "finance": "currencies and markets", "travel": "flights and hotels",
    "recipes": "food", "music": "songs and playlists", "translate": "languages", "vision": "pictures",
}  # fmt: skip
_VERBS = {
    "create": "Create a new", "get": "Fetch one", "list": "List every", "update": "Change the fields of a",
    "delete": "Remove a", "search": "Find every matching", "export": "Export, as a spreadsheet, each",
    "convert": "Convert the format or unit of a", "archive": "Archive an old", "share": "Share with others a",
    "summarize": "Summarize the contents of a", "assign": "Assign to a person a",
}  # fmt: skip
_THINGS = (
    "issue", "message", "file", "customer", "invoice", "payment", "event", "report", "user", "comment",
    "order", "meeting",
)  # fmt: skip
_PARAMETERS = (
    ("query", "words to look for"), ("limit", "how many to give back at most"), ("id", "which one"),
    ("since", "the earliest date, as 2024-01-31"), ("labels", "labels that it must have"),
    ("format", "json, csv or text"), ("owner", "the person whose it is"),
    ("currency", "a three-letter code"), ("dry_run", "only say what would be done"),
)  # fmt: skip


def make_listings(count: int = COUNT) -> list[Listing]:
    """Return that many listings with distinct ids; `convert_currency` is always one of them."""
    made = [_currency()]
    triples = ((s, v, t) for t in _THINGS for v in _VERBS for s in _SERVICES)
    made += [_listing(number, *triple) for number, triple in zip(range(count - 1), triples, strict=False)]
    assert len(made) == count
    return made


def _currency() -> Listing:
    return Listing(
        id="convert_currency",
        title="Convert currency",
        description="Convert an amount of money from one currency to another at today's exchange rate.",
        tags=("finance", "money"),
        store="platform",
        search_text="amount how much from_currency a three-letter code to_currency a three-letter code",
    )


def _listing(number: int, service: str, verb: str, thing: str) -> Listing:
    first, second, third = (_PARAMETERS[(number * step) % len(_PARAMETERS)] for step in (1, 2, 5))
    said = (
        f"{_VERBS[verb]} {thing} in {service.title()} ({_SERVICES[service]}). Use it when somebody asks to "
        f"{verb} a {thing} there; it needs the {first[0]} and takes the {second[0]}. Variant {number % 97}."
    )
    return Listing(
        id=f"{service}_{verb}_{thing}",
        title=f"{verb.capitalize()} {thing} in {service.capitalize()}",
        description=said,
        tags=(service, _SERVICES[service].split()[0], thing),
        owner=f"team-{number % 12}",
        share=("private", "org", "public")[number % 3],
        store="platform",
        effect="read" if verb in ("get", "list", "search") else "irreversible",
        search_text=" ".join(f"{name} {what}" for name, what in (first, second, third)),
    )
