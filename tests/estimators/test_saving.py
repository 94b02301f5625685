"""Saved models: what comes back is what was written, and a file that is no model is one clear error."""

import io
import json
import os
import pickle
import re
import struct
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lspin import LSPINClassifier, LSPINRegressor, load
from test_reference import draw, draw_counts, draw_frame

SMALL = {
    "hidden_layer_sizes": (4,),
    "gate_hidden_layer_sizes": (4,),
    "sparsity": 0.01,
    "max_epochs": 5,
    "random_state": 0,
}
rng = np.random.default_rng(0)
X = rng.normal(size=(24, 3))
WIDE = rng.normal(size=(24, 40))
COUNTS = rng.poisson(0.5, (24, 40)).astype(float)
FIRST_IS_POSITIVE = (X[:, 0] > 0).astype(int)
SWITCHED, RESPONSE = draw(n_rows=160)  # two groups, told by the first column
FRAME = pd.DataFrame(
    {
        "age": np.where(np.arange(24) % 7 == 0, np.nan, 50 + 10 * X[:, 0]),
        "stage": pd.Categorical([None if i % 11 == 0 else ["I", "II"][i % 2] for i in range(24)]),
        "smokes": X[:, 2] > 0,
    }
)

drawn = settings(
    deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture], database=None
)


def fit_labels(classes, **settings):
    return LSPINClassifier(**SMALL, **settings).fit(X, np.asarray(classes)[FIRST_IS_POSITIVE])


MODELS = {
    "int classes": lambda: (fit_labels([3, 7], class_weight={3: 1.0, 7: 2.5}), X),
    "str classes": lambda: (fit_labels(["no", "yes"]), X),
    "object classes": lambda: (fit_labels(np.array(["no", "maybe"], dtype=object)), X),
    "bool classes": lambda: (fit_labels([False, True]), X),
    "three classes of a frame": lambda: (LSPINClassifier(**SMALL).fit(FRAME, np.arange(24) % 3), FRAME),
    "fewer rows than columns": lambda: (
        LSPINClassifier(sparsity=0.01, max_epochs=5, random_state=0).fit(WIDE, FIRST_IS_POSITIVE),
        WIDE,
    ),
    "absent zeros": lambda: (
        LSPINClassifier(sparsity=0.01, max_epochs=5, random_state=0).fit(sp.csr_array(COUNTS), FIRST_IS_POSITIVE),
        COUNTS,
    ),
    "two regressors": lambda: (
        LSPINRegressor(**{**SMALL, "sparsity": "auto", "n_features": 2}, n_members=2).fit(X, 1e6 * X[:, 0]),
        X,
    ),
    "groups": lambda: (LSPINRegressor(start="groups", random_state=0).fit(SWITCHED, RESPONSE), SWITCHED),
    "groups of a frame": lambda: (
        LSPINClassifier(start="groups", n_members=2, bootstrap=True, random_state=0).fit(FRAME, FIRST_IS_POSITIVE),
        FRAME,
    ),
}


@pytest.fixture(scope="module")
def models():
    return {name: make() for name, make in MODELS.items()}


@pytest.fixture(scope="module")
def classifier(models):
    return models["three classes of a frame"][0]


@pytest.fixture(scope="module")
def content(classifier, tmp_path_factory):
    """The bytes of a saved model."""
    path = tmp_path_factory.mktemp("saved") / "model"
    classifier.save(path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def grouped_content(models, tmp_path_factory):
    """The bytes of a saved model of groups."""
    path = tmp_path_factory.mktemp("saved") / "model"
    models["groups"][0].save(path)
    return path.read_bytes()


def answers(model, table):
    """All that a fitted model says of a table."""
    methods = ["predict", "gates", "selected", "selection_frequency", "transform"]
    if isinstance(model, LSPINClassifier):
        methods += ["predict_proba", "decision_function"]
    return {method: getattr(model, method)(table) for method in methods}


def assert_same_answers(one, other):
    for method, expected in one.items():
        assert other[method].dtype == expected.dtype, method
        np.testing.assert_array_equal(other[method], expected, err_msg=method)


def learned_values(model):
    """Learned attributes by scikit-learn's convention; members and kind show in what the model says."""
    shown = ("members_", "kind_")
    return {name: value for name, value in vars(model).items() if name.endswith("_") and name not in shown}


def assert_same_value(one, other):
    assert type(one) is type(other)
    if isinstance(other, pd.DataFrame):
        pd.testing.assert_frame_equal(one, other)
    elif isinstance(other, np.ndarray):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    else:
        assert one == other


def save_and_load(model, path):
    model.save(path)
    return load(path)


def pickle_and_unpickle(model, path):
    return pickle.loads(pickle.dumps(model))


def dump_and_load_with_joblib(model, path):
    joblib.dump(model, path)
    return joblib.load(path)


# Round trips -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("travel", [save_and_load, pickle_and_unpickle, dump_and_load_with_joblib])
def test_a_model_that_comes_back_says_the_same_and_knows_the_same(name, travel, models, tmp_path):
    model, table = models[name]
    back = travel(model, tmp_path / "model")
    assert type(back) is type(model)
    assert back.get_params() == model.get_params()
    assert_same_answers(answers(model, table), answers(back, table))
    assert learned_values(back).keys() == learned_values(model).keys() >= {"sparsity_", "path_", "history_"}
    for attribute, value in learned_values(model).items():
        assert_same_value(getattr(back, attribute), value)


def test_the_path_of_a_search_comes_back(models, tmp_path):
    model, _ = models["two regressors"]
    path = save_and_load(model, tmp_path / "model").path_
    assert len(path) > 0
    pd.testing.assert_frame_equal(path, model.path_)


@pytest.mark.parametrize("name", ["groups", "groups of a frame", "int classes"])
def test_what_was_found_comes_back(name, models, tmp_path):
    model, _ = models[name]
    back = save_and_load(model, tmp_path / "model")
    for found in ("contest_", "structure_", "structure_frequency_", "components_"):
        pd.testing.assert_frame_equal(getattr(back, found), getattr(model, found))


def test_names_and_levels_of_a_frame_come_back(classifier, tmp_path):
    back = save_and_load(classifier, tmp_path / "model")
    assert list(back.feature_names_in_) == ["age", "stage", "smokes"]
    assert list(back.get_feature_names_out()) == ["age", "stage_I", "stage_II", "smokes"]
    with pytest.raises(ValueError, match="feature names should match"):
        back.predict(FRAME[["stage", "age", "smokes"]])


def test_a_loaded_model_can_be_fitted_again(models, tmp_path):
    model, table = models["int classes"]
    back = save_and_load(model, tmp_path / "model").fit(X, np.array([3, 7])[FIRST_IS_POSITIVE])
    assert_same_answers(answers(model, table), answers(back, table))


def test_numbers_of_numpy_among_the_parameters_are_saved(tmp_path):
    model = LSPINClassifier(**{**SMALL, "hidden_layer_sizes": (np.int64(4),), "sparsity": np.float32(0.25)})
    back = save_and_load(model.fit(X, FIRST_IS_POSITIVE), tmp_path / "model")
    assert back.hidden_layer_sizes == (4,)
    assert back.sparsity == 0.25


def test_an_affinity_that_is_a_function_is_left_out_with_a_warning(tmp_path):
    model = fit_labels([0, 1], affinity=lambda a, b: np.ones((len(a), len(b))))
    with pytest.warns(UserWarning, match="affinity is a function or a matrix and is not saved"):
        model.save(tmp_path / "model")
    assert_same_answers(answers(model, X), answers(load(tmp_path / "model"), X))


def test_the_file_holds_json_and_plain_arrays_only(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = archive.namelist()
        assert all(name == "model.json" or name.endswith(".npy") for name in names)
        json.loads(archive.read("model.json"))
        for name in set(names) - {"model.json"}:
            np.load(io.BytesIO(archive.read(name)), allow_pickle=False)


# Files that are no model -------------------------------------------------------------------------------------


def assert_refused(path, reason=""):
    """Loading gives a ValueError, no other kind, that names the file and the reason."""
    with pytest.raises(ValueError, match=f"{re.escape(str(path))}.*{reason}") as caught:
        load(path)
    assert caught.type is ValueError


def test_a_file_that_does_not_exist_is_not_found(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        load(tmp_path / "nowhere")


@pytest.mark.parametrize("foreign", [b"", b"PK", b"name,age\nanna,3\n", b"PK\x05\x06" + bytes(18), bytes(1000)])
def test_a_file_of_something_else_is_refused(foreign, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(foreign)
    assert_refused(path)


@settings(drawn, max_examples=150)
@given(part=st.floats(0, 1, exclude_max=True))
def test_a_truncated_file_is_refused(part, content, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(content[: int(part * len(content))])
    assert_refused(path)


def assert_refused_or_unharmed(path, model):
    """Some bytes, such as the time an entry was made, mean nothing to a model."""
    try:
        back = load(path)
    except ValueError as error:
        assert type(error) is ValueError  # noqa: PT017
        assert str(path) in str(error)  # noqa: PT017
    else:
        assert_same_answers(answers(model, FRAME), answers(back, FRAME))


@settings(drawn, max_examples=200)
@given(part=st.floats(0, 1, exclude_max=True), mask=st.integers(1, 255))
def test_a_file_with_a_changed_byte_is_refused_or_answers_the_same(part, mask, content, classifier, tmp_path):
    changed = bytearray(content)
    changed[int(part * len(content))] ^= mask
    path = tmp_path / "model"
    path.write_bytes(changed)
    assert_refused_or_unharmed(path, classifier)


@pytest.mark.parametrize("header", [b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06"])
def test_a_header_of_the_archive_with_a_changed_byte_is_refused_or_answers_the_same(
    header, content, classifier, tmp_path
):
    path = tmp_path / "model"
    start = content.index(header)
    for place in range(start, min(start + 46, len(content))):
        for mask in (0x01, 0xFF):
            changed = bytearray(content)
            changed[place] ^= mask
            path.write_bytes(changed)
            assert_refused_or_unharmed(path, classifier)


def rewrite(content, path, changes, compression=zipfile.ZIP_STORED):
    """Write the file again, with valid checksums, some of its entries changed (or, where None, left out)."""
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(path, "w", compression) as new:
        entries = {name: old.read(name) for name in old.namelist()} | changes
        for name, entry in entries.items():
            if entry is not None:
                new.writestr(name, entry)


def as_npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def with_header(header, data=bytes(80)):
    padded = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(padded)) + padded + data


def claim_shape(shape, kind="<f8"):
    return with_header(f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}")


CENTER = "members/0/center.npy"  # four inputs: age, two levels of stage, smokes
SCALE = "members/0/scale.npy"
FEATURES = "members/0/features.npy"
CLASSES = "attributes/classes_.npy"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"model.json": None}, "model.json"),
        ({"model.json": b"\xff\xfe"}, ""),
        ({"model.json": b"{"}, ""),
        ({"model.json": b"[]"}, "something else"),
        ({"model.json": b"[" * 100_000}, "recursion"),
        ({CENTER: None}, "center"),
        ({CENTER: b""}, ""),
        ({CENTER: b"no array"}, ""),
        ({CENTER: as_npy(np.zeros(5))}, r"center has the shape \(5,\) where \(4,\) is needed"),
        ({CENTER: as_npy(np.zeros((4, 1)))}, r"shape \(4, 1\)"),
        ({CENTER: as_npy(np.array(["a"] * 4))}, "center holds <U1"),
        ({CENTER: as_npy(np.zeros(4, dtype="M8[s]"))}, "center holds datetime64"),
        ({CENTER: as_npy(np.zeros(4)) + b"more"}, "wrong size"),
        ({CENTER: as_npy(np.zeros(4))[:-1]}, "wrong size"),
        ({CENTER: claim_shape((10**15,))}, "claims the shape .* wrong size"),
        ({CENTER: claim_shape((2**62, 4))}, "claims the shape .* wrong size"),
        ({CENTER: claim_shape((-2, -5))}, r"shape \(-2, -5\)"),
        ({CENTER: with_header("{'descr': (((")}, ""),
        ({CENTER: with_header("(" * 5000)}, ""),
        ({CLASSES: claim_shape((10**15,), "<U0")}, "classes_ holds"),
        ({CLASSES: as_npy(np.zeros((3, 1)))}, "classes_"),
        ({CLASSES: as_npy(np.arange(4))}, "members do not fit"),
        ({FEATURES: as_npy(np.array([0, 1, 3]))}, "no selection of its 3 columns"),
        ({FEATURES: as_npy(np.array([-1, 0, 2]))}, "no selection of its 3 columns"),
        ({FEATURES: as_npy(np.array([0, 0, 2]))}, "no selection of its 3 columns"),
        ({FEATURES: as_npy(np.array([0, 2]))}, ""),
        ({FEATURES: as_npy(np.int64(1))}, ""),
        ({"members/0/owners.npy": as_npy(np.array([0, 1, 2, 2]))}, "inputs do not fit"),
        ({"members/0/gating/0/weights.npy": as_npy(np.zeros((3, 4)))}, r"\(3, 4\) where \(7, 4\)"),
        ({"members/0/prediction/1/bias.npy": as_npy(np.zeros(2))}, r"\(2,\) where \(3,\)"),
        ({"members/0/prediction/1/bias.npy": as_npy(np.full(3, np.nan))}, "not finite"),
        ({CENTER: as_npy(np.array([0, 0, np.nan, 0]))}, "center of its inputs is not finite"),
        ({CENTER: as_npy(np.full(4, np.inf))}, "center of its inputs is not finite"),
        ({SCALE: as_npy(np.array([1.0, 1.0, 0.0, 1.0]))}, "scale not positive"),
        ({SCALE: as_npy(np.array([1.0, 1.0, -1.0, 1.0]))}, "scale not positive"),
        ({SCALE: as_npy(np.array([1.0, 1.0, np.nan, 1.0]))}, "scale not positive"),
        ({"model.json": b'{"format": NaN}'}, "description holds NaN"),
    ],
)
def test_a_file_with_a_wrong_entry_is_refused(changes, reason, content, tmp_path):
    path = tmp_path / "model"
    rewrite(content, path, changes)
    assert_refused(path, reason)


def description(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return json.loads(archive.read("model.json"))


@pytest.mark.parametrize(
    ("place", "value", "reason"),
    [
        (["format"], "another", "something else"),
        (["format_version"], 4, "format 4, and this version reads formats up to 3: install a newer lspin"),
        (["format_version"], "one", ""),
        (["kind"], "LSPINOracle", "holds a 'LSPINOracle'"),
        (["kind"], ["LSPINClassifier"], "holds a"),
        (["kind"], "LSPINRegressor", ""),
        (["parameters"], 3, ""),
        (["parameters", "surprise"], 1, "surprise"),
        (["parameters", "learning_rate"], -1.0, "learning_rate"),
        (["parameters", "class_weight"], {"0": 1}, ""),
        (["attributes", "n_features_in_"], 4, "members do not fit"),
        (["attributes", "n_features_in_"], "3", "n_features_in_"),
        (["attributes", "sparsity_"], None, "sparsity_"),
        (["attributes", "path_"], [], "path_"),
        (["attributes", "classes_"], [0, 1, 2], "classes_"),
        (["attributes", "classes_"], {"array": "attributes/none"}, "none"),
        (["attributes", "feature_names_in_"], {"names": ["age"]}, "1 names for 3 columns"),
        (["attributes", "history_"], {"frame": 3}, ""),
        (["members"], [], "members do not fit"),
        (["members"], 5, ""),
        (["members", 0, "n_columns"], 10**18, "members do not fit"),
        (["members", 0, "n_columns"], 2, "no selection of its 2 columns"),
        (["members", 0, "levels"], [], "inputs do not fit"),
        (["members", 0, "levels"], [[1, ["I", "II", "III"]]], "inputs do not fit"),
        (["members", 0, "sees_missing"], False, "gating network does not fit"),
        (["members", 0, "sizes", "gating"], [], "no layers"),
        (["members", 0, "sizes", "prediction"], [4], "no layers"),
        (["members", 0, "sizes", "prediction"], [5, 4, 3], "prediction network does not fit"),
        (["members", 0, "sizes", "prediction"], [4, 10**12, 3], r"where \(4, 1000000000000\) is needed"),
        (["members", 0, "arrays"], "members/7", "members/7"),
        (["members", 0, "n_groups"], 7, "members/0/groups/weights"),
        (["members", 0, "has_context"], True, "context"),
        (["members", 0, "context_only"], True, "context is for the gates alone, but it has none"),
        (["attributes", "start_"], 3, "start_"),
        (["attributes", "start_"], "trees", "start_ is 'trees'"),
    ],
)
def test_a_file_with_a_wrong_description_is_refused(place, value, reason, content, tmp_path):
    path = tmp_path / "model"
    change_description(content, path, place, value)
    assert_refused(path, reason)


def change_description(content, path, place, value):
    """Write the file again with another value at a place of its description."""
    changed = description(content)
    holder = changed
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = value
    rewrite(content, path, {"model.json": json.dumps(changed)})


@pytest.mark.parametrize(
    ("place", "value", "reason"),
    [
        (["members", 0, "n_groups"], None, "gating network does not fit"),
        (["members", 0, "n_groups"], 1, "gating network does not fit"),
        (["members", 0, "n_groups"], 3, "gating network does not fit"),
        (["members", 0, "n_groups"], "two", "gating network does not fit"),
        (["members", 0, "n_groups"], 10**12, "gating network does not fit"),
        (["members", 0, "zero_is_absent"], True, "zeros are absent"),
    ],
)
def test_a_file_whose_groups_do_not_fit_is_refused(place, value, reason, grouped_content, tmp_path):
    assert description(grouped_content)["members"][0]["n_groups"] == 2
    path = tmp_path / "model"
    change_description(grouped_content, path, place, value)
    assert_refused(path, reason)


@pytest.mark.parametrize(
    ("name", "array", "reason"),
    [
        ("group", np.array([0, 2]), "groups do not fit its members"),
        ("member", np.array([0]), ""),
        ("common", np.array([0, 5]), "common groups are those of none"),
        ("common", np.array([0.0, 1.0]), "common groups are those of none"),
        ("common", np.array(["a", "b"]), "common groups are those of none"),
        ("share", None, "share"),
    ],
)
def test_a_file_whose_groups_are_not_those_of_its_members_is_refused(
    name, array, reason, grouped_content, tmp_path
):
    path = tmp_path / "model"
    entry = None if array is None else as_npy(array)
    rewrite(grouped_content, path, {f"attributes/_matched/{name}.npy": entry})
    assert_refused(path, reason)


def test_groups_of_a_file_without_their_sizes_are_told(grouped_content, models, tmp_path):
    changed = description(grouped_content)
    del changed["attributes"]["_matched"], changed["attributes"]["contest_"]
    path = tmp_path / "model"
    rewrite(grouped_content, path, {"model.json": json.dumps(changed)})
    back, model = load(path), models["groups"][0]
    assert back.structure_["share"].isna().all()
    assert back.contest_.empty
    pd.testing.assert_frame_equal(back.structure_frequency_, model.structure_frequency_)
    np.testing.assert_array_equal(back.memberships(SWITCHED), model.memberships(SWITCHED))


@pytest.fixture(scope="module")
def context_content(tmp_path_factory):
    """The bytes of a saved model whose gates look at the first two of three columns, which are for them alone."""
    model = LSPINClassifier(**SMALL, n_members=2, context=[0, 1], context_only=True).fit(X, FIRST_IS_POSITIVE)
    path = tmp_path_factory.mktemp("saved") / "model"
    model.save(path)
    return path.read_bytes()


@pytest.mark.parametrize(
    ("place", "value", "reason"),
    [
        (["members", 0, "has_context"], False, "gating network does not fit"),
        (["members", 0, "sees_own"], True, "members/0/own"),
        (["parameters", "context"], "age", "context"),
    ],
)
def test_a_file_whose_context_does_not_fit_is_refused(place, value, reason, context_content, tmp_path):
    path = tmp_path / "model"
    change_description(context_content, path, place, value)
    assert_refused(path, reason)


CONTEXT_ENTRY, LAST_BIAS = "members/0/context.npy", "members/0/gating/1/bias.npy"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({CONTEXT_ENTRY: None}, "context"),
        ({CONTEXT_ENTRY: [0, 3]}, "context is no selection of its 3 features"),
        ({CONTEXT_ENTRY: [1, 0]}, "context is no selection of its 3 features"),
        ({CONTEXT_ENTRY: [-1, 0]}, "context is no selection of its 3 features"),
        ({CONTEXT_ENTRY: [0.0, 1.0]}, "float64"),
        ({CONTEXT_ENTRY: [[0, 1]]}, ""),
        ({CONTEXT_ENTRY: 1}, ""),
        ({CONTEXT_ENTRY: [0]}, "gating network does not fit"),
        ({CONTEXT_ENTRY: [0, 2], LAST_BIAS: [-9.0, -9.0, -9.0]}, "look at different columns"),
        ({LAST_BIAS: [9.0, -9.0, -9.0]}, "has gates that open"),
    ],
)
def test_a_file_with_a_wrong_context_is_refused(changes, reason, context_content, tmp_path):
    path = tmp_path / "model"
    arrays = {name: None if array is None else as_npy(np.array(array)) for name, array in changes.items()}
    rewrite(context_content, path, arrays)
    assert_refused(path, reason)


@pytest.mark.parametrize(
    ("name", "array", "reason"),
    [
        ("groups/weights", None, "groups/weights"),
        ("groups/weights", np.zeros((3, 2)), r"\(3, 2\) where"),
        ("groups/bias", np.zeros(3), r"\(3,\) where \(2,\)"),
        ("groups/bias", np.array([0.0, np.inf]), "not finite"),
    ],
)
def test_a_file_with_wrong_numbers_of_groups_is_refused(name, array, reason, grouped_content, tmp_path):
    path = tmp_path / "model"
    entry = None if array is None else as_npy(array)
    rewrite(grouped_content, path, {f"members/0/{name}.npy": entry})
    assert_refused(path, reason)


@pytest.mark.parametrize("left_out", ["format_version", "kind", "parameters", "attributes", "members"])
def test_a_file_whose_description_lacks_a_part_is_refused(left_out, content, tmp_path):
    changed = description(content)
    del changed[left_out]
    path = tmp_path / "model"
    rewrite(content, path, {"model.json": json.dumps(changed)})
    assert_refused(path, left_out)


class Intruder:
    """Makes a folder when it is unpickled."""

    def __init__(self, trace):
        self.trace = str(trace)

    def __reduce__(self):
        return os.mkdir, (self.trace,)


@pytest.mark.parametrize("entry", [CENTER, CLASSES])
def test_code_in_an_array_of_objects_does_not_run(entry, content, tmp_path):
    path, trace = tmp_path / "model", tmp_path / "trace"
    payload = np.empty(4, dtype=object)
    payload[:] = Intruder(trace)
    rewrite(content, path, {entry: as_npy(payload)})
    assert_refused(path, "holds object")
    assert not trace.exists()
    pickle.loads(pickle.dumps(Intruder(trace)))
    assert trace.exists()  # the payload does what it is for


def test_a_pickled_file_does_not_run(tmp_path):
    path, trace = tmp_path / "model", tmp_path / "trace"
    path.write_bytes(pickle.dumps(Intruder(trace)))
    assert_refused(path)
    assert not trace.exists()


def peak_memory_of_refusal(path):
    tracemalloc.start()
    try:
        assert_refused(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("entry", ["model.json", CENTER, "unused"])
def test_a_small_file_that_unpacks_to_a_large_one_is_refused_unread(entry, content, tmp_path):
    path = tmp_path / "model"
    rewrite(content, path, {entry: bytes(2**26)}, zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 2**20
    assert peak_memory_of_refusal(path) < 2**22


@pytest.mark.parametrize("filling", [b"[]," * 2**21, b'{"a":0},' * 2**20, b" " * 2**26])
def test_a_description_that_would_fill_the_memory_is_refused_unread(filling, content, tmp_path):
    path = tmp_path / "model"
    rewrite(content, path, {"model.json": b"[" + filling + b"0]"})
    assert peak_memory_of_refusal(path) < 2 * len(filling) + 2**22  # where reading it takes sixty times as much


@pytest.mark.parametrize("entry", ["model.json", CENTER])
def test_a_file_with_an_entry_twice_is_refused(entry, content, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(content)
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr(entry, archive.read(entry))
    assert_refused(path, f"it holds {entry} twice")


@pytest.mark.parametrize("size", [2**20, 2**31 - 1])
def test_an_entry_that_claims_to_be_larger_than_the_file_is_refused_unread(size, content, tmp_path):
    path = tmp_path / "model"
    changed = bytearray(content)
    directory = content.index(b"PK\x01\x02")
    changed[directory + 20 : directory + 28] = struct.pack("<II", size, size)
    path.write_bytes(changed)
    assert peak_memory_of_refusal(path) < 2**22


# Writing -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_a_failure_while_writing_leaves_the_old_file_and_nothing_else(
    error, content, models, tmp_path, monkeypatch
):
    path = tmp_path / "model"
    path.write_bytes(content)

    def fail(*_, **__):
        raise error

    monkeypatch.setattr(np.lib.format, "write_array", fail)
    with pytest.raises(type(error)):
        models["int classes"][0].save(path)
    assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["model"]


def test_saving_replaces_the_old_file(models, content, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(content)
    models["int classes"][0].save(path)
    assert list(load(path).classes_) == [3, 7]


def test_classes_that_a_file_cannot_hold_are_refused_when_saving(tmp_path):
    model = fit_labels(np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]"))
    with pytest.raises(TypeError, match=r"classes_ holds .*2020-01-01.*only numbers and text"):
        model.save(tmp_path / "model")
    assert os.listdir(tmp_path) == []


# Imports -----------------------------------------------------------------------------------------------------


def modules_after(code, *arguments):
    """Names of the modules that a fresh process has imported after running some code."""
    report = "\nimport sys; print(*sys.modules)"
    command = [sys.executable, "-c", code + report, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


def test_importing_the_package_imports_no_compiler_and_no_plots():
    imported = modules_after("import lspin")
    assert "lspin" in imported
    assert {"jax", "optax", "matplotlib", "polars"}.isdisjoint(imported)


def test_loading_and_predicting_imports_no_compiler(models, tmp_path):
    model, table = models["two regressors"]
    model.save(tmp_path / "model")
    joblib.dump(model, tmp_path / "pickled")
    np.save(tmp_path / "table.npy", table)
    code = """if True:
        import sys, joblib, lspin, numpy as np
        folder = sys.argv[1]
        table = np.load(f"{folder}/table.npy")
        model = lspin.load(f"{folder}/model")
        np.save(f"{folder}/loaded.npy", model.predict(table))
        np.save(f"{folder}/gates.npy", model.gates(table))
        np.save(f"{folder}/unpickled.npy", joblib.load(f"{folder}/pickled").predict(table))
    """
    imported = modules_after(code, tmp_path)
    assert {"jax", "jaxlib", "optax"}.isdisjoint(imported)
    np.testing.assert_array_equal(np.load(tmp_path / "loaded.npy"), model.predict(table))
    np.testing.assert_array_equal(np.load(tmp_path / "unpickled.npy"), model.predict(table))
    np.testing.assert_array_equal(np.load(tmp_path / "gates.npy"), model.gates(table))


# Files of earlier versions ---------------------------------------------------------------------------------------

DATA = Path(__file__).parents[1] / "data"
OLD_TABLES = {
    "classifier": lambda: draw_frame()[0],
    "regressor": lambda: draw(n_columns=60)[0][:, :12],
    "cox": lambda: draw_counts()[0][:, :12],
}


@pytest.mark.parametrize("name", OLD_TABLES)
def test_a_file_written_by_version_0_1_opens_and_says_what_it_said(name):
    said = json.loads((DATA / "saved-0.1.0.json").read_text())[name]
    model, X = load(DATA / f"{name}-0.1.0.lspin"), OLD_TABLES[name]()
    rows = X.iloc[:6] if name == "classifier" else X[:6]
    gates = model.gates(rows)
    np.testing.assert_allclose(gates.toarray() if sp.issparse(gates) else gates, said["gates"], atol=1e-9)
    if name == "classifier":
        np.testing.assert_allclose(model.predict_proba(rows), said["probabilities"], atol=1e-9)
        assert model.predict(rows).tolist() == said["prediction"]
        assert model.get_params()["class_weight"] == {"yes": 2.0, "no": 1.0}
        assert model.origin_ == {"columns": {"target": "y"}, "id": None, "held_out_score": 0.9}
    else:
        np.testing.assert_allclose(model.predict(rows), said["prediction"], atol=1e-9)
    if name == "cox":
        curves = model.predict_survival_function(rows, return_array=True)[:, ::8]
        np.testing.assert_allclose(curves, said["survival"], atol=1e-9)
    assert model.sparsity_ == said["sparsity"]
    assert model.start_ == "networks"
    assert model.contest_.empty
    assert model.structure_.empty
    assert model.explain(rows).to_frame().shape[0] == model.selected(rows).sum()
