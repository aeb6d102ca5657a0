"""Keras models train and predict on RDNA without anything falling back, with the gradients of TensorFlow's CPU."""

import gc

import keras
import numpy as np
import pytest
import small_models
import tensorflow as tf
import tf_rdna

MODELS = {"mlp": small_models.mlp, "resnet": small_models.resnet, "bert": small_models.bert}
OPTIMIZERS = {
    "sgd": lambda: keras.optimizers.SGD(1e-2, momentum=0.9, weight_decay=1e-4),
    "adam": lambda: keras.optimizers.Adam(1e-3),
    "adamw": lambda: keras.optimizers.AdamW(1e-3, weight_decay=0.01),
    "rmsprop": lambda: keras.optimizers.RMSprop(1e-3),
}


def compiled(make, optimizer, **options):
    keras.utils.set_random_seed(1)
    model, x, y = make()
    model.compile(
        optimizer=OPTIMIZERS[optimizer](),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
        **options,
    )
    return model, x, y


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", MODELS)
def test_models_train_and_predict_without_fallback(name, optimizer):
    tf_rdna.set_fallback_mode("error")
    tf_rdna.reset_fallback_report()
    with tf.device("RDNA:0"):
        model, x, y = compiled(MODELS[name], optimizer)
        losses = model.fit(x, y, epochs=4, batch_size=8, verbose=0).history["loss"]
        predicted = model.predict(x, verbose=0)
    assert losses[-1] < losses[0]
    assert np.isfinite(predicted).all()
    assert tf_rdna.fallback_report() == []
    assert all("RDNA:0" in variable.value.device for variable in model.trainable_variables)


@pytest.mark.parametrize("name", MODELS)
def test_predictions_and_gradients_are_those_of_the_cpu(name):
    with tf.device("RDNA:0"):
        model, x, y = compiled(MODELS[name], "sgd")
        model(x[:1])
        weights = model.get_weights()
        predicted, found = model(x).numpy(), small_models.gradients(model, x, y)
    with tf.device("CPU:0"):
        other, _, _ = MODELS[name]()
        other(x[:1])
        other.set_weights(weights)
        wanted = small_models.gradients(other, x, y)
        np.testing.assert_allclose(predicted, other(x).numpy(), rtol=1e-4, atol=1e-4)
    assert len(found) == len(wanted) > 0
    for one, reference in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, reference, rtol=1e-3, atol=1e-4 * (np.abs(reference).max() + 0.1))


def test_kernels_of_the_device_did_the_work():
    before = tf_rdna.native_report()
    with tf.device("RDNA:0"):
        model, x, y = compiled(small_models.resnet, "sgd")
        model.train_on_batch(x, y)
    after = tf_rdna.native_report()
    for operation in (
        "RdnaConv2D",
        "Conv2DBackpropInput",
        "Conv2DBackpropFilter",
        "MaxPoolGrad",
        "MatMul",
        "RdnaMatMul",
        "RdnaElementwise",
        "ReluGrad",
        "BiasAddGrad",
    ):
        assert after[operation] > before.get(operation, 0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_mixed_precision(dtype):
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(f"mixed_{dtype}")
    try:
        with tf.device("RDNA:0"):
            model, x, y = compiled(small_models.resnet, "sgd")
            losses = model.fit(x, y, epochs=4, batch_size=8, verbose=0).history["loss"]
    finally:
        keras.config.set_dtype_policy(before)
    assert losses[-1] < losses[0]


def test_jit_compile_is_off_by_default():
    with tf.device("RDNA:0"):
        model, _, _ = compiled(small_models.mlp, "sgd")
    assert model.jit_compile is False


def test_jit_compile_is_taken_back_by_keras():
    with tf.device("RDNA:0"):
        model, x, y = compiled(small_models.mlp, "sgd")
        with pytest.warns(UserWarning, match="Proceeding with `jit_compile=False`"):
            model.compile("sgd", model.loss, jit_compile=True)
        before = tf_rdna.native_report().get("MatMul", 0)
        losses = model.fit(x, y, epochs=3, batch_size=64, verbose=0).history["loss"]
        assert losses[-1] < losses[0]
        assert tf_rdna.native_report()["MatMul"] > before


def test_models_are_saved_and_loaded(tmp_path):
    with tf.device("RDNA:0"):
        model, x, _ = compiled(small_models.mlp, "sgd")
        wanted = model.predict(x, verbose=0)
        model.save(tmp_path / "model.keras")
        found = keras.models.load_model(tmp_path / "model.keras", compile=False).predict(x, verbose=0)
        np.testing.assert_array_equal(found, wanted)
        tf.saved_model.save(model, str(tmp_path / "saved"))
        loaded = tf.saved_model.load(str(tmp_path / "saved"))
        np.testing.assert_allclose(
            loaded.signatures["serving_default"](tf.constant(x))["output_0"].numpy(), wanted, rtol=1e-5
        )


def steps_with_flat_memory(steps):
    """TensorFlow frees memory behind the work that uses it, so that what tensors take goes up and down by some batches."""
    with tf.device("RDNA:0"):
        model, x, y = compiled(small_models.resnet, "adamw")
        peaks, reserved = [], []
        for count in (40, steps, steps):
            tf_rdna.config.reset_memory_stats("RDNA:0")
            for _ in range(count):
                model.train_on_batch(x, y)
            gc.collect()
            memory = tf_rdna.config.get_memory_info("RDNA:0")
            peaks.append(memory["peak"])
            reserved.append(memory["reserved"])
    assert peaks[2] <= 1.25 * max(peaks[:2])
    assert reserved[2] <= 1.25 * max(reserved[:2])


def test_memory_is_flat_while_a_model_trains():
    steps_with_flat_memory(40)


@pytest.mark.slow
def test_memory_is_flat_for_a_thousand_steps():
    steps_with_flat_memory(500)


@pytest.mark.slow
def test_resnet50_and_bert_base_train_without_fallback():
    tf_rdna.set_fallback_mode("error")
    with tf.device("RDNA:0"):
        model = keras.applications.ResNet50(
            weights=None, input_shape=(64, 64, 3), classes=10, classifier_activation=None
        )
        model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        x = np.random.default_rng(0).normal(size=(2, 64, 64, 3)).astype(np.float32)
        assert np.isfinite(model.train_on_batch(x, np.array([1, 2])))
        model, x, y = small_models.bert(layers=12, size=768, words=30522, length=32)
        model.compile("adamw", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        assert np.isfinite(model.train_on_batch(x[:2], y[:2]))
