"""Generates schemas with all keywords, and values that often fit one, from a source of randomness."""

from toolhaft.schema.json_schema import resolve

NAMES = ("a", "b", "c", "type", "$ref", "x y")
PATTERNS = {"^a": ("a", "ab"), "b$": ("b", "ab"), "[0-9]+": ("1", "a12"), "^c[a-z]*$": ("c", "cc")}
FORMATS = {
    "date": "2024-01-31",
    "email": "ada@example.com",
    "uri": "https://example.com/p",
    "uuid": "123e4567-e89b-42d3-a456-426614174000",
}
TYPES = ("string", "integer", "number", "boolean", "null", "object", "array")
DEFS = ("N", "M")
MEANT = {"properties": "object", "items": "array", "minLength": "string", "minimum": "integer"}
SAMPLES = {
    "integer": (0, 1, 2, 4, -1, 7),
    "number": (0, 1.5, 2, 4, -0.5, 9),
    "boolean": (True, False),
    "null": (None,),
}
RARE = {
    "minProperties": 1,
    "maxProperties": 2,
    "propertyNames": {"maxLength": 3},
    "dependentRequired": {"a": ["b"]},
    "dependentSchemas": {"b": {"required": ["a"]}},
}
TEXTS = ("", "a", "b", "ab", "c", "cc", "1", "a12", "null", "x", *FORMATS.values())


class Maker:
    """Draws schemas and values; `rnd` is any random.Random. Closed ones leave less to be narrowed."""

    def __init__(self, rnd, *, closed=False):
        self.rnd = rnd
        self.closed = closed

    def odds(self, chance):
        return self.rnd.random() < chance

    def tool(self):
        """A tool's schema: an object, with definitions that may refer to themselves."""
        schema = {"type": "object", **self.object(3)}
        if self.odds(0.15):
            schema.update(self.union(2, objects=True))
        if self.odds(0.1):
            schema["allOf"] = [{"type": "object", **self.object(2)} for _ in range(self.rnd.randint(1, 2))]
        schema["$defs"] = {name: self.definition() for name in DEFS}
        return schema

    def definition(self):
        if self.odds(0.4):
            return (
                {"type": "object", **self.object(1), "additionalProperties": False}
                if self.odds(0.5)
                else {"type": "object", **self.object(1)}
            )
        return self.schema(1)

    def schema(self, depth):
        if depth <= 0 or self.odds(0.3):
            return self.scalar()
        makers = (
            self.of_object,
            self.of_array,
            self.union,
            self.all_of,
            self.reference,
            self.listed,
            self.logic,
            self.mixed,
            self.anything,
        )
        return self.rnd.choices(makers, weights=(15, 12, 10, 7, 10, 6, 4, 3, 3))[0](depth - 1)

    def of_object(self, depth):
        return {"type": self.kind("object"), **self.object(depth)}

    def of_array(self, depth):
        return {"type": self.kind("array"), **self.array(depth)}

    def mixed(self, depth):
        return {"type": self.rnd.sample(TYPES, 2), **self.object(depth), **self.text_keywords()}

    def anything(self, depth):
        return self.rnd.choice(({}, True, False, {"description": "anything"}))

    def kind(self, name):
        return [name, "null"] if self.odds(0.15) else name

    def reference(self, depth):
        node = {"$ref": f"#/$defs/{self.rnd.choice(DEFS)}"}
        if self.odds(0.2):
            node["description"] = "beside"
        if self.odds(0.1):
            node.update(self.object(depth))
        return node

    def scalar(self):
        kind = self.rnd.choice(TYPES[:5])
        node = {"type": self.kind(kind)}
        if kind == "string":
            node.update(self.text_keywords())
        elif kind in ("integer", "number"):
            bounds = {"minimum": 0, "maximum": 5, "exclusiveMinimum": -1, "multipleOf": 2}
            node.update({key: value for key, value in bounds.items() if self.odds(0.2)})
        return self.noted(node)

    def noted(self, node):
        if self.odds(0.2):
            node["description"] = "Words."
        if self.odds(0.1):
            node["default"] = None if self.odds(0.5) else 3
        return node

    def text_keywords(self):
        node = {}
        if self.odds(0.2):
            node["minLength"] = 1
        if self.odds(0.2):
            node["maxLength"] = self.rnd.choice((1, 3))
        if self.odds(0.15):
            node["pattern"] = self.rnd.choice(list(PATTERNS))
        if self.odds(0.15):
            node["format"] = self.rnd.choice(list(FORMATS))
        return node

    def object(self, depth):
        names = self.rnd.sample(NAMES, self.rnd.randint(0, 3))
        node = {"properties": {name: self.schema(depth) for name in names}}
        if self.odds(0.6):
            node["required"] = [name for name in names if self.odds(0.5)]
        roll = self.rnd.random()
        if roll < 0.45 or self.closed:
            node["additionalProperties"] = False
        elif roll < 0.55:
            node["additionalProperties"] = self.schema(depth - 1)
        elif roll < 0.6:
            node["unevaluatedProperties"] = False
        if self.odds(0.06):
            node["patternProperties"] = {self.rnd.choice(("^a", "^z")): self.schema(depth - 1)}
        node.update({key: value for key, value in RARE.items() if self.odds(0.04)})
        return self.noted(node)

    def array(self, depth):
        node = {}
        if self.odds(0.7):
            node["items"] = self.schema(depth)
        if self.odds(0.25):
            first = [self.schema(depth) for _ in range(self.rnd.randint(1, 2))]
            node["prefixItems"] = first
            if self.odds(0.6):
                node.update({"minItems": len(first), "maxItems": len(first)})
        for key, value in (
            ("minItems", 1),
            ("maxItems", 2),
            ("uniqueItems", True),
            ("contains", {"type": "integer"}),
        ):
            if self.odds(0.1):
                node.setdefault(key, value)
        return node

    def union(self, depth, *, objects=False):
        count = self.rnd.randint(1, 3)
        branches = [
            {"type": "object", **self.object(depth)} if objects else self.schema(depth) for _ in range(count)
        ]
        if self.odds(0.3):
            branches.append({"type": "null"})
        node = {self.rnd.choice(("anyOf", "oneOf")): branches}
        if self.odds(0.2) and not objects:
            node.update(self.object(depth - 1))
        return self.noted(node)

    def all_of(self, depth):
        if self.odds(0.6):
            return {"allOf": [{"type": "object", **self.object(depth)} for _ in range(2)]}
        return {"allOf": [self.schema(depth), self.schema(depth)]}

    def listed(self, depth):
        pool = ("a", "b", "", 1, 2, "1", None, True, False, 1.5, [1], {"a": 1})
        listed = self.rnd.sample(pool, self.rnd.randint(1, 4))
        node = {"enum": listed} if self.odds(0.7) else {"const": listed[0]}
        if self.odds(0.2):
            node["type"] = self.rnd.choice(TYPES)
        return self.noted(node)

    def logic(self, depth):
        if self.odds(0.5):
            return {**self.schema_object(depth), "not": self.schema(0)}
        return {**self.schema_object(depth), "if": self.schema(0), "then": self.schema(0)}

    def schema_object(self, depth):
        made = self.schema(depth)
        return dict(made) if isinstance(made, dict) else {"type": "string"}

    def value(self, schema, root, depth=6):
        """A value that often fits a schema."""
        if depth <= 0 or not isinstance(schema, dict) or not schema or self.odds(0.02):
            return self.any_value()
        if isinstance(schema.get("$ref"), str):
            return self.value(resolve(root, schema["$ref"]), root, depth - 1)
        if schema.get("nullable") is True and self.odds(0.2):
            return None
        if "const" in schema or schema.get("enum"):
            return self.rnd.choice([schema["const"]] if "const" in schema else schema["enum"])
        return self.composed_value(schema, root, depth)

    def composed_value(self, schema, root, depth):
        for key in ("anyOf", "oneOf"):
            if schema.get(key):
                rest = {k: v for k, v in schema.items() if k != key}
                return self.value(self.both(rest, self.rnd.choice(schema[key])), root, depth - 1)
        if not schema.get("allOf"):
            return self.typed_value(schema, root, depth)
        whole = {k: v for k, v in schema.items() if k != "allOf"}
        for part in schema["allOf"]:
            whole = self.both(whole, self.led(part, root))
        return self.value(whole, root, depth - 1)

    def led(self, part, root):
        for _ in range(5):
            if isinstance(part, dict) and isinstance(part.get("$ref"), str):
                part = resolve(root, part["$ref"])
        return part

    def both(self, one, other):
        if not isinstance(other, dict):
            return one
        new = {**one, **other}
        for key in ("properties", "required"):
            if key in one and key in other:
                new[key] = {**one[key], **other[key]} if key == "properties" else [*one[key], *other[key]]
        return new

    def typed_value(self, schema, root, depth):
        kind = schema.get("type") or next((kind for key, kind in MEANT.items() if key in schema), None)
        if isinstance(kind, list):
            kind = self.rnd.choice(kind)
        if kind == "object":
            return self.object_value(schema, root, depth)
        if kind == "array":
            return self.array_value(schema, root, depth)
        if kind == "string":
            return self.text_value(schema)
        return self.rnd.choice(SAMPLES[kind]) if kind in SAMPLES else self.any_value()

    def text_value(self, schema):
        if "format" in schema:
            return FORMATS.get(schema["format"], "a")
        if "pattern" in schema and self.odds(0.8):
            return self.rnd.choice(PATTERNS.get(schema["pattern"], TEXTS))
        return self.rnd.choice(TEXTS)

    def object_value(self, schema, root, depth):
        names = schema.get("properties", {})
        required = schema.get("required", [])
        made = {
            name: self.value(child, root, depth - 1)
            for name, child in names.items()
            if name in required or self.odds(0.4)
        }
        for name in required:
            made.setdefault(name, self.any_value())
        other = schema.get("additionalProperties")
        patterns = schema.get("patternProperties", {})
        if other is not False and self.odds(0.35):
            made.setdefault(
                self.rnd.choice(("z", "d", "a")),
                self.value(other, root, depth - 1) if isinstance(other, dict) else self.any_value(),
            )
        if patterns and self.odds(0.5):
            made.setdefault(
                self.rnd.choice(("aa", "zz")), self.value(next(iter(patterns.values())), root, depth - 1)
            )
        return made

    def array_value(self, schema, root, depth):
        first = [self.value(child, root, depth - 1) for child in schema.get("prefixItems", [])]
        count = self.rnd.randint(0, 2) if schema.get("maxItems", 9) > len(first) else 0
        items = schema.get("items", {})
        least = max(0, schema.get("minItems", 0) - len(first))
        more = (
            [self.value(items, root, depth - 1) for _ in range(max(count, least))]
            if items is not False
            else []
        )
        return first[: self.rnd.randint(0, len(first))] if self.odds(0.1) else first + more

    def any_value(self):
        return self.rnd.choice(
            (
                None,
                True,
                0,
                3,
                1.5,
                "a",
                "1",
                "b",
                [],
                [1],
                {},
                {"a": 1},
                {"b": "x"},
                [{"key": "a", "value": 1}],
            )
        )
