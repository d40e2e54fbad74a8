import pytest

from ticketlab.figures.metric_labels import label_of


@pytest.mark.parametrize(
    ("metric", "axis"),
    [
        ("clean.accuracy", "Clean accuracy (%)"),
        ("clean.matthews", "Clean Matthews correlation"),
        ("ood.hans.weighted_f1", "hans weighted F1 (%)"),
        ("attack.textfooler.aua", "Aua under textfooler (%)"),
        ("attack.textfooler.queries", "Queries under textfooler"),
        ("dev.attack.pwws.aua", "Aua under pwws on the dev split (%)"),
        ("cost.training_seconds", "Training time (s)"),
        ("sparsity.heads", "Removed heads (%)"),
        ("history.search.dev_accuracy", "Development accuracy (%)"),
        ("history.search.gates_at_zero", "Gates at 0 (%)"),
        ("history.search.penalty", "Regulariser R"),
        ("clean.recall.a.b", "Clean recall of a.b (%)"),
        ("ood.hans[heuristic=subsequence].accuracy", "hans[heuristic=subsequence] accuracy (%)"),
    ],
)
def test_axes_have_the_names_of_metrics_and_percentages(metric, axis):
    assert label_of(metric).axis == axis
