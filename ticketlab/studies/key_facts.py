"""What the key of a stage depends on, so that a machine where the key is another one can say what differs."""

from __future__ import annotations

from collections.abc import Mapping

from ticketlab.backbone.device import pick_precision
from ticketlab.core import registry
from ticketlab.runs.run_inputs import RunInputs
from ticketlab.runs.stage_cache import threads_in_key


def key_facts(inputs: RunInputs) -> dict[str, str]:
    """Return what the keys of a recipe's stages depend on here, each by its name in a message, apart from settings and earlier stages."""
    known = registry.current()
    data = {**inputs.data, **inputs.sets, **inputs.data_of_stages()}
    return {
        **{f"the data of {label}": one.fingerprint for label, one in data.items()},
        **({f"the model {inputs.recipe.model}": inputs.model_fingerprint} if inputs.model_fingerprint else {}),
        **{f"the plugin {source.name}": known.version_of(source) for source in known.sources if not source.is_built_in},
        "the precision": pick_precision(inputs.recipe.precision),
        "the number of threads": str(threads_in_key()),
    }


def differing(there: Mapping[str, str], here: Mapping[str, str]) -> str:
    """Return the names of what differs, for a message; if nothing does, what else may be the reason."""
    names = [name for name in {**there, **here} if there.get(name) != here.get(name)]
    return f"what differs is {' and '.join(names)}" if names else "the code of a component, or a file that a setting names, differs"
