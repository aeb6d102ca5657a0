// Layered networks on devices through amdgpu.hpp: forward passes of arrays, numbers of networks, training.
#include "check.hpp"

namespace {

constexpr auto classes = R"(neuralNetwork classes:
  seed = 3
  layer input(2)
  layer hidden(8, activation: tanh)
  layer output(2, activation: softmax)
  connect input -> hidden
  connect hidden -> output
)";

const std::vector<float> corners = {0, 0, 0, 1, 1, 0, 1, 1};
const std::vector<std::uint32_t> is_odd = {0, 1, 1, 0};

void forward(const amdgpu::Device &device) {
    const amdgpu::Network network(classes);
    const std::vector<float> wanted = network.forward(corners);
    const amdgpu::Array x = array_of<float>(device, "float32", {4, 2}, corners);
    CHECK(network.forward(x).read<float>() == wanted);
    CHECK(is_near(network.forward(x, true), {wanted.begin(), wanted.end()}));
    CHECK((network.forward(x.reshape({2, 4}).view({2}, {3})).shape() == std::vector<std::int64_t>{2}));
    expect(AGPU_ERROR_SHAPE_MISMATCH, "the network takes", [&] { (void)network.forward(x.reshape({8})); });
}

void numbers() {
    const amdgpu::Network network(R"(neuralNetwork rule:
  layer input(2, activation: identity)
  layer output(1, activation: identity)
  connect input -> output (weight: 1)
  plasticity hebbian(learning_rate: 0.5)
)");
    network.set_biases("output", std::vector<float>{0.25F});
    CHECK((network.biases("output") == std::vector<float>{0.25F}));
    CHECK((network.hebbian_step(std::vector<float>{1, 2}) == std::vector<float>{3.25F}));
    CHECK(network.weights("input -> output").first[0] == 1 + 0.5F * 3.25F);
}

void training(const amdgpu::Device &device) {
    const amdgpu::TrainingSamples samples{.x = corners, .labels = is_odd};
    const amdgpu::Network network(classes), other(classes), third(classes);
    const amdgpu::Trainer trainer(network, {.parameters = {{"beta_2", 0.99}}, .batch_size = 4});
    CHECK(std::string_view(trainer.info().loss) == "cross_entropy");
    CHECK(trainer.gradients(samples).size() == network.info().parameters);
    const double before = trainer.evaluate(samples).loss;
    for (int epoch = 0; epoch < 200; epoch++) (void)trainer.epoch(samples, 0.05);
    const agpu_training_report report = trainer.evaluate(samples);
    CHECK(report.accuracy == 1 && report.loss < before && trainer.info().epochs == 200);

    // On the device, and by the kernels that GPUs run.
    const amdgpu::Trainer placed(other, device, {.optimizer = "momentum"}), kernels(third, device, {.optimizer = "momentum", .uses_kernels = true});
    const double loss = placed.epoch(samples, 0.1).loss;
    CHECK(std::abs(loss - kernels.epoch(samples, 0.1).loss) < 1e-5);
    const std::vector<float> state = placed.state();
    CHECK(state.size() == other.info().parameters);
    placed.restore(state, placed.info());
    CHECK(placed.state() == state && placed.info().epochs == 1);
    expect(AGPU_ERROR_INVALID_ARGUMENT, "either values or labels", [&] { (void)placed.evaluate({.x = corners}); });
    expect(AGPU_ERROR_INVALID_ARGUMENT, "optimizer is", [&] { amdgpu::Trainer(network, {.optimizer = "newton"}); });
}

}  // namespace

int main() {
    {
        const amdgpu::Device device("cpu:0");
        forward(device);
        numbers();
        training(device);
    }
    CHECK(amdgpu::handle_count() == 0);
    std::puts("ok");
}
