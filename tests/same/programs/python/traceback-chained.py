# A chain of exceptions shows causes, contexts and notes.
import json


class ConfigError(Exception):
    pass


def load(text):
    try:
        return json.loads(text)
    except ValueError as e:
        error = ConfigError("the configuration cannot be read")
        error.add_note("it begins with " + text[:4])
        raise error from e


try:
    load("{nope")
finally:
    {}["missing"]
