"""Programs of the kinds that Keras users write: losses on RDNA are those on TensorFlow's CPU, and no surprising operation runs there."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_rdna
from beside_cpu import CPU, RDNA
from keras import layers

# Orthogonal matrices, with which recurrent layers begin, come from the CPU.
LEFT_TO_THE_CPU = {"Qr(T=float32)"}


def numbers(*shape):
    return np.random.default_rng(0).random(shape).astype(np.float32)


def trained(model, x, y, optimizer, loss, **options):
    model.compile(optimizer, loss)
    history = model.fit(x, y, batch_size=4, epochs=2, verbose=0, shuffle=False, **options).history
    return [*history["loss"], *history.get("val_loss", [])]


def segmentation():
    """A U-Net with separable and transposed convolutions, pooling, upsampling and residual paths."""
    images = keras.Input((16, 16, 3))
    x = before = layers.Activation("relu")(layers.BatchNormalization()(layers.Conv2D(8, 3, 2, "same")(images)))
    x = layers.BatchNormalization()(layers.SeparableConv2D(12, 3, padding="same")(x))
    x = layers.MaxPooling2D(3, strides=2, padding="same")(x)
    x = before = layers.add([x, layers.Conv2D(12, 1, strides=2, padding="same")(before)])
    for width in (12, 8):
        x = layers.BatchNormalization()(layers.Conv2DTranspose(width, 3, padding="same")(layers.Activation("relu")(x)))
        skip = layers.Conv2D(width, 1, padding="same")(layers.UpSampling2D(2)(before))
        x = before = layers.add([layers.UpSampling2D(2)(x), skip])
    model = keras.Model(images, layers.Conv2D(3, 3, activation="softmax", padding="same")(x))
    x, y = numbers(8, 16, 16, 3), np.arange(8 * 256).reshape(8, 16, 16, 1) % 3
    return trained(model, x, y, "rmsprop", "sparse_categorical_crossentropy", validation_data=(x, y))


class Autoencoder(keras.Model):
    """A variational autoencoder with a training step of its own."""

    def __init__(self):
        super().__init__()
        self.encoder = keras.Sequential(
            [layers.Conv2D(8, 3, 2, "same", activation="relu"), layers.Flatten(), layers.Dense(4)]
        )
        stages = [layers.Dense(7 * 7 * 8, activation="relu"), layers.Reshape((7, 7, 8))]
        stages += [
            layers.Conv2DTranspose(8, 3, 2, "same", activation="relu"),
            layers.Conv2D(1, 3, 1, "same", activation="sigmoid"),
        ]
        self.decoder = keras.Sequential(stages)
        self.seeds = keras.random.SeedGenerator(3)

    def train_step(self, images):
        with tf.GradientTape() as tape:
            mean, variance = tf.split(self.encoder(images), 2, axis=1)
            noise = keras.random.normal(tf.shape(mean), seed=self.seeds)
            found = self.decoder(mean + tf.exp(0.5 * variance) * noise)
            error = tf.reduce_mean(tf.reduce_sum(keras.losses.binary_crossentropy(images, found), axis=(1, 2)))
            loss = error - 0.5 * tf.reduce_mean(1 + variance - tf.square(mean) - tf.exp(variance))
        gradients = tape.gradient(loss, self.trainable_weights)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_weights, strict=True))
        return {"loss": loss}


def autoencoder():
    model = Autoencoder()
    model.compile("adam")
    return model.fit(numbers(8, 14, 14, 1), batch_size=4, epochs=2, verbose=0, shuffle=False).history["loss"]


class Adversaries(keras.Model):
    """Two networks against each other, with batches whose size the graph does not know."""

    def __init__(self):
        super().__init__()
        self.judge = keras.Sequential(
            [layers.Conv2D(8, 3, 2, "same"), layers.LeakyReLU(0.2), layers.GlobalMaxPooling2D(), layers.Dense(1)]
        )
        stages = [layers.Dense(4 * 4 * 8), layers.LeakyReLU(0.2), layers.Reshape((4, 4, 8))]
        self.maker = keras.Sequential([*stages, layers.Conv2DTranspose(1, 4, 2, "same", activation="sigmoid")])
        self.loss_of = keras.losses.BinaryCrossentropy(from_logits=True)
        self.optimizers = [keras.optimizers.Adam(3e-4), keras.optimizers.Adam(3e-4)]

    def train_step(self, images):
        count = tf.shape(images)[0]
        losses = []
        for part, optimizer in zip((self.judge, self.maker), self.optimizers, strict=True):
            with tf.GradientTape() as tape:
                made = self.maker(tf.random.normal((count, 6), seed=len(losses)))
                judged = self.judge(tf.concat([made, images], axis=0))
                labels = tf.concat([tf.ones((count, 1)), tf.zeros((count, 1))], axis=0)
                labels += 0.05 * tf.random.uniform(tf.shape(labels), seed=7)
                losses.append(self.loss_of(labels if part is self.judge else 1 - labels, judged))
            gradients = tape.gradient(losses[-1], part.trainable_weights)
            optimizer.apply_gradients(zip(gradients, part.trainable_weights, strict=True))
        return {"loss": losses[0], "other": losses[1]}


def adversaries():
    model = Adversaries()
    model.compile()
    images = tf.data.Dataset.from_tensor_slices(numbers(10, 8, 8, 1)).batch(4).prefetch(2)
    history = model.fit(images, epochs=2, verbose=0, shuffle=False).history
    return [*history["loss"], *history["other"]]


def forecast():
    """Series with a recurrent layer and one output, whose variables of one element meet numbers without axes in the optimizer."""
    series = numbers(60, 3).cumsum(0)
    batches = keras.utils.timeseries_dataset_from_array(
        series[:40], series[20:, :1], sequence_length=6, sampling_rate=2, batch_size=8
    )
    values = keras.Input((6, 3))
    model = keras.Model(values, layers.Dense(1)(layers.LSTM(5)(values)))
    model.compile("adam", "mse")
    return model.fit(batches, epochs=2, verbose=0, shuffle=False).history["loss"]


def groups():
    """Convolutions of groups, which Keras wraps in functions for XLA."""
    stages = [keras.Input((8, 8, 8)), layers.Conv2D(8, 3, groups=4, padding="same"), layers.GroupNormalization(4)]
    stages += [layers.Activation("silu"), layers.DepthwiseConv2D(3, 2, "same"), layers.Activation("hard_swish")]
    model = keras.Sequential([*stages, layers.GlobalAveragePooling2D(), layers.Dense(3, activation="softmax")])
    return trained(model, numbers(8, 8, 8, 8), np.arange(8) % 3, "sgd", "sparse_categorical_crossentropy")


def sentences():
    """Masked sequences in both directions."""
    words = keras.Input((None,), dtype="int32")
    x = layers.Embedding(50, 6, mask_zero=True)(words)
    x = layers.Bidirectional(layers.GRU(4))(x)
    model = keras.Model(words, layers.Dense(1, activation="sigmoid")(x))
    random = np.random.default_rng(0)
    x = keras.utils.pad_sequences([random.integers(1, 50, size=count) for count in random.integers(2, 7, 8)], maxlen=7)
    return trained(model, x, np.arange(8) % 2, "adam", "binary_crossentropy")


@pytest.mark.parametrize("program", [segmentation, autoencoder, adversaries, forecast, groups, sentences])
def test_losses_are_those_of_tensorflow(program):
    found = []
    for device in (CPU, RDNA):
        keras.utils.set_random_seed(5)
        tf_rdna.reset_fallback_report()
        with tf.device(device):
            found.append(program())
    assert {one.operation for one in tf_rdna.fallback_report()} <= LEFT_TO_THE_CPU
    np.testing.assert_allclose(found[1], found[0], rtol=1e-3)


@pytest.mark.parametrize("device", [CPU, RDNA])
def test_functions_for_xla_are_graphs_on_the_device(device):
    @tf.function(jit_compile=True)
    def product(a, b):
        return tf.nn.relu(a @ b)

    a, b = numbers(3, 4), numbers(4, 5)
    with tf.device(device):
        found = product(tf.constant(a), tf.constant(b))
        nested = tf.function(lambda a, b: product(a, b) + 1.0)(tf.constant(a), tf.constant(b))
    np.testing.assert_allclose(found.numpy(), a @ b, rtol=1e-5)
    np.testing.assert_allclose(nested.numpy(), a @ b + 1, rtol=1e-5)
    assert ("RDNA" in found.device) is (device == RDNA)


@pytest.mark.parametrize("shapes", [((), (1,)), ((3,), (1, 3)), ((1, 3), (3,)), ((3, 1), (1, 3, 1))])
def test_results_with_more_axes_than_an_input_of_as_many_elements(shapes):
    """TensorFlow offers the memory of such inputs for the result."""
    x, y = (np.asarray(numbers(*shape), np.float32).reshape(shape) for shape in shapes)

    def chain(x, y):
        x, y = tf.exp(x), tf.exp(y)
        return tf.sqrt(x) * y - x / (y + 1.0), tf.exp(x) + tf.exp(y)

    results = []
    for device in (CPU, RDNA):
        with tf.device(device):
            results.append([one.numpy() for one in tf.function(chain)(tf.constant(x), tf.constant(y))])
    for wanted, found in zip(*results, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_rows_are_stitched_on_the_host():
    indices = [np.array([[0, 2], [3, 1]], np.int32), np.array(2, np.int32)]
    data = [np.arange(8, dtype=np.int32).reshape(2, 2, 2), np.array([9, 8], np.int32)]
    with tf.device(RDNA):
        found = tf.dynamic_stitch([tf.constant(one) for one in indices], [tf.constant(one) for one in data])
        assert found.numpy().tolist() == [[0, 1], [6, 7], [9, 8], [4, 5]]
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.dynamic_stitch([tf.constant([0, 1])], [tf.constant([[1, 2]])])
