// collectives.cpp: torch.distributed for tensors of rdna, over an engine that torch has.
//
// NCCL and RCCL work on the tensors' own memory, as tensors of torch's own device, in the order of a stream of ours. Other engines (gloo) get
// copies in pinned memory, in a thread that does the collectives in the order in which they were asked for. Either way the caller goes on, and
// `Work::wait` lets the caller's current stream wait for the stream of the collectives.
#include "collectives.h"
#include "core.h"
#include "memory.h"

#include <ATen/ATen.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

namespace amdgpu_torch {
namespace {

using c10d::Backend;
using c10d::Work;
using Tensors = std::vector<at::Tensor>;
using TensorLists = std::vector<Tensors>;
using WorkPointer = c10::intrusive_ptr<Work>;
using Future = c10::ivalue::Future;

// Runs what it is given one after the other in a thread of its own. What a task keeps is let go by the threads that come here, since tensors may
// need Python to be let go, which this thread would wait for in vain once the interpreter ends.
class Worker {
public:
    Worker() : thread_([this] { serve(); }) {}

    ~Worker() {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            is_closed_ = true;
        }
        change_.notify_one();
        thread_.join();
    }

    Worker(const Worker &) = delete;
    Worker &operator=(const Worker &) = delete;

    void submit(std::function<void()> task) {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            tasks_.push_back(std::move(task));
        }
        change_.notify_one();
        clear();
    }

    // Lets go what tasks that have ended kept.
    void clear() {
        std::vector<std::function<void()>> ended;
        const std::lock_guard<std::mutex> lock(mutex_);
        ended.swap(ended_);
    }

private:
    void serve() {
        std::unique_lock<std::mutex> lock(mutex_);
        while (true) {
            change_.wait(lock, [this] { return is_closed_ || !tasks_.empty(); });
            if (tasks_.empty()) return;
            auto task = std::move(tasks_.front());
            tasks_.pop_front();
            lock.unlock();
            task();
            lock.lock();
            ended_.push_back(std::move(task));
        }
    }

    std::mutex mutex_;
    std::condition_variable change_;
    std::deque<std::function<void()>> tasks_;
    std::vector<std::function<void()>> ended_;
    bool is_closed_ = false;
    std::thread thread_;
};

// A collective that was asked for.
class Asked final : public Work {
public:
    Asked(int rank, c10::intrusive_ptr<Future> future, std::shared_ptr<Worker> worker)
        : Work(rank), future_(std::move(future)), worker_(std::move(worker)) {}

    bool isCompleted() override { return future_->completed(); }
    bool isSuccess() const override { return future_->completed() && !future_->hasError(); }
    std::exception_ptr exception() const override { return future_->completed() && future_->hasError() ? future_->exception_ptr() : nullptr; }
    std::vector<at::Tensor> result() override { return future_->value().toTensorVector(); }
    void synchronize() override { wait(kNoTimeout); }
    c10::intrusive_ptr<Future> getFuture() override { return future_; }

    // What the caller's current stream is given from now on finds the results.
    bool wait(std::chrono::milliseconds limit) override {
        const auto end = std::chrono::steady_clock::now() + limit;
        // Futures know no limit.
        while (limit != kNoTimeout && !future_->completed()) {
            TORCH_CHECK(
                std::chrono::steady_clock::now() < end,
                "the collective has not ended after ",
                limit.count(),
                " ms: another process may not have asked for it");
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        future_->wait();
        if (worker_ != nullptr) worker_->clear();
        if (future_->hasError()) std::rethrow_exception(future_->exception_ptr());
        return true;
    }

private:
    c10::intrusive_ptr<Future> future_;
    std::shared_ptr<Worker> worker_;
};

// What the engine works on in place of tensors of rdna: the same one for a tensor that is given twice.
class Doubles {
public:
    explicit Doubles(std::function<at::Tensor(const at::Tensor &)> make) : make_(std::move(make)) {}

    at::Tensor of(const at::Tensor &tensor) {
        auto &known = known_[tensor.unsafeGetTensorImpl()];
        if (!known.defined()) known = make_(tensor);
        return known;
    }

    Tensors of(const Tensors &tensors) {
        Tensors made;
        for (const auto &tensor : tensors) made.push_back(of(tensor));
        return made;
    }

    TensorLists of(const TensorLists &lists) {
        TensorLists made;
        for (const auto &list : lists) made.push_back(of(list));
        return made;
    }

private:
    std::function<at::Tensor(const at::Tensor &)> make_;
    std::unordered_map<c10::TensorImpl *, at::Tensor> known_;
};

// A collective of the engine; null where it has ended already.
using Call = std::function<WorkPointer(Backend &, Doubles &)>;

Tensors joined(const TensorLists &lists) {
    Tensors all;
    for (const auto &list : lists) all.insert(all.end(), list.begin(), list.end());
    return all;
}

class Collectives final : public Backend {
public:
    Collectives(c10::intrusive_ptr<Backend> engine, std::vector<c10::DeviceIndex> peers)
        : Backend(engine->getRank(), engine->getSize()), engine_(std::move(engine)), peers_(std::move(peers)) {
        if (!is_shared()) worker_ = std::make_shared<Worker>();
    }

    const std::string getBackendName() const override { return "rdna"; }

    WorkPointer broadcast(Tensors &tensors, const c10d::BroadcastOptions &options) override {
        return start(tensors, tensors, [=](Backend &engine, Doubles &doubles) {
            auto own = doubles.of(tensors);
            return engine.broadcast(own, options);
        });
    }

    WorkPointer allreduce(Tensors &tensors, const c10d::AllreduceOptions &options) override {
        return start(tensors, tensors, [=](Backend &engine, Doubles &doubles) {
            auto own = doubles.of(tensors);
            return engine.allreduce(own, options);
        });
    }

    WorkPointer allreduce_coalesced(Tensors &tensors, const c10d::AllreduceCoalescedOptions &options) override {
        c10d::AllreduceOptions plain;
        plain.reduceOp = options.reduceOp;
        plain.timeout = options.timeout;
        return start(tensors, tensors, [=](Backend &engine, Doubles &doubles) {
            for (const auto &tensor : tensors) {
                Tensors own = {doubles.of(tensor)};
                engine.allreduce(own, plain)->wait();
            }
            return WorkPointer();
        });
    }

    WorkPointer reduce(Tensors &tensors, const c10d::ReduceOptions &options) override {
        return start(tensors, tensors, [=](Backend &engine, Doubles &doubles) {
            auto own = doubles.of(tensors);
            return engine.reduce(own, options);
        });
    }

    WorkPointer allgather(TensorLists &results, Tensors &tensors, const c10d::AllgatherOptions &options) override {
        return start(tensors, joined(results), [=](Backend &engine, Doubles &doubles) {
            auto made = doubles.of(results);
            auto own = doubles.of(tensors);
            return engine.allgather(made, own, options);
        });
    }

    WorkPointer _allgather_base(at::Tensor &result, at::Tensor &tensor, const c10d::AllgatherOptions &options) override {
        return start({tensor}, {result}, [=](Backend &engine, Doubles &doubles) {
            auto made = doubles.of(result);
            auto own = doubles.of(tensor);
            return engine._allgather_base(made, own, options);
        });
    }

    WorkPointer allgather_into_tensor_coalesced(Tensors &results, Tensors &tensors, const c10d::AllgatherOptions &options) override {
        return start(tensors, results, [=](Backend &engine, Doubles &doubles) {
            for (size_t place = 0; place < results.size(); ++place) {
                auto made = doubles.of(results[place]);
                auto own = doubles.of(tensors[place]);
                engine._allgather_base(made, own, options)->wait();
            }
            return WorkPointer();
        });
    }

    WorkPointer gather(TensorLists &results, Tensors &tensors, const c10d::GatherOptions &options) override {
        return start(tensors, joined(results), [=](Backend &engine, Doubles &doubles) {
            auto made = doubles.of(results);
            auto own = doubles.of(tensors);
            return engine.gather(made, own, options);
        });
    }

    WorkPointer scatter(Tensors &results, TensorLists &tensors, const c10d::ScatterOptions &options) override {
        return start(joined(tensors), results, [=](Backend &engine, Doubles &doubles) {
            auto made = doubles.of(results);
            auto own = doubles.of(tensors);
            return engine.scatter(made, own, options);
        });
    }

    WorkPointer reduce_scatter(Tensors &results, TensorLists &tensors, const c10d::ReduceScatterOptions &options) override {
        return start(joined(tensors), results, [=, this](Backend &engine, Doubles &doubles) {
            auto made = doubles.of(results);
            auto own = doubles.of(tensors);
            if (is_shared()) return engine.reduce_scatter(made, own, options);
            for (size_t place = 0; place < made.size(); ++place) made[place].copy_(summed(engine, own[place], options)[rank_]);
            return WorkPointer();
        });
    }

    WorkPointer _reduce_scatter_base(at::Tensor &result, at::Tensor &tensor, const c10d::ReduceScatterOptions &options) override {
        return start({tensor}, {result}, [=, this](Backend &engine, Doubles &doubles) {
            auto made = doubles.of(result);
            auto own = doubles.of(tensor);
            if (is_shared()) return engine._reduce_scatter_base(made, own, options);
            scatter_sum(engine, made, own, options);
            return WorkPointer();
        });
    }

    WorkPointer
    reduce_scatter_tensor_coalesced(Tensors &results, Tensors &tensors, const c10d::ReduceScatterOptions &options) override {
        return start(tensors, results, [=, this](Backend &engine, Doubles &doubles) {
            for (size_t place = 0; place < results.size(); ++place) {
                auto made = doubles.of(results[place]);
                auto own = doubles.of(tensors[place]);
                if (is_shared()) {
                    engine._reduce_scatter_base(made, own, options)->wait();
                } else {
                    scatter_sum(engine, made, own, options);
                }
            }
            return WorkPointer();
        });
    }

    WorkPointer alltoall_base(
        at::Tensor &result,
        at::Tensor &tensor,
        std::vector<int64_t> &to,
        std::vector<int64_t> &of,
        const c10d::AllToAllOptions &options) override {
        return start({tensor}, {result}, [=](Backend &engine, Doubles &doubles) {
            auto made = doubles.of(result);
            auto own = doubles.of(tensor);
            auto result_sizes = to, sizes = of;
            return engine.alltoall_base(made, own, result_sizes, sizes, options);
        });
    }

    WorkPointer alltoall(Tensors &results, Tensors &tensors, const c10d::AllToAllOptions &options) override {
        return start(tensors, results, [=, this](Backend &engine, Doubles &doubles) {
            auto made = doubles.of(results);
            auto own = doubles.of(tensors);
            if (is_shared()) return engine.alltoall(made, own, options);
            exchange(engine, made, own, options);
            return WorkPointer();
        });
    }

    WorkPointer send(Tensors &tensors, int to, int tag) override {
        return start(tensors, {}, [=](Backend &engine, Doubles &doubles) {
            auto own = doubles.of(tensors);
            return engine.send(own, to, tag);
        });
    }

    WorkPointer recv(Tensors &tensors, int from, int tag) override {
        return start({}, tensors, [=](Backend &engine, Doubles &doubles) {
            auto own = doubles.of(tensors);
            return engine.recv(own, from, tag);
        });
    }

    WorkPointer recvAnysource(Tensors &tensors, int tag) override {
        TORCH_CHECK_NOT_IMPLEMENTED(
            !is_shared(),
            "NCCL does not receive from whichever process sends: name the process, or set AMDGPU_TORCH_COLLECTIVES=gloo");
        return start({}, tensors, [=](Backend &engine, Doubles &doubles) {
            auto own = doubles.of(tensors);
            return engine.recvAnysource(own, tag);
        });
    }

    // Every process gets here, with what its device was asked for done.
    WorkPointer barrier(const c10d::BarrierOptions &options) override {
        const auto index = current_device();
        if (is_open(index)) synchronize_device(index);
        auto own = options;
        if (is_shared()) own.device_ids = {peers_.at(index)};
        return start({}, {}, [=](Backend &engine, Doubles &) { return engine.barrier(own); });
    }

    void setSequenceNumberForGroup() override { engine_->setSequenceNumberForGroup(); }
    uint64_t getSequenceNumberForGroup() override { return engine_->getSequenceNumberForGroup(); }

private:
    bool is_shared() const { return !peers_.empty(); }

    // Sums of all processes, of which gloo gives no parts.
    static at::Tensor summed(Backend &engine, const Tensors &parts, const c10d::ReduceScatterOptions &options) {
        c10d::AllreduceOptions plain;
        plain.reduceOp = options.reduceOp;
        plain.timeout = options.timeout;
        Tensors whole = {at::stack(parts)};
        engine.allreduce(whole, plain)->wait();
        return whole[0];
    }

    void scatter_sum(Backend &engine, const at::Tensor &result, const at::Tensor &tensor, const c10d::ReduceScatterOptions &options) {
        const Tensors parts = at::chunk(tensor, size_);
        result.copy_(summed(engine, parts, options)[rank_].view_as(result));
    }

    // Lists of tensors as parts of one, which gloo exchanges.
    static void exchange(Backend &engine, const Tensors &results, const Tensors &tensors, const c10d::AllToAllOptions &options) {
        if (tensors.empty()) return;
        Tensors flat;
        std::vector<int64_t> to, of;
        for (const auto &tensor : tensors) {
            flat.push_back(tensor.reshape({-1}));
            of.push_back(tensor.numel());
        }
        int64_t count = 0;
        for (const auto &result : results) {
            to.push_back(result.numel());
            count += result.numel();
        }
        auto whole = at::cat(flat), made = at::empty({count}, whole.options());
        const auto parts = made.split_with_sizes(to);
        // The engine takes the sizes away.
        engine.alltoall_base(made, whole, to, of, options)->wait();
        for (size_t place = 0; place < results.size(); ++place) results[place].copy_(parts[place].view_as(results[place]));
    }

    // The stream in whose order the collectives of a device are done.
    c10::Stream stream_on(c10::DeviceIndex index) {
        auto found = streams_.find(index);
        if (found == streams_.end()) {
            const c10::impl::VirtualGuardImpl guard(device_type);
            found = streams_.emplace(index, guard.getNewStream({device_type, index})).first;
        }
        return found->second;
    }

    // Does a collective that reads some tensors and writes some, which may be the same ones.
    WorkPointer start(const Tensors &read, const Tensors &written, const Call &call) {
        Tensors all = read;
        all.insert(all.end(), written.begin(), written.end());
        const auto index = all.empty() ? current_device() : all[0].get_device();
        const c10::Device device(device_type, index);
        for (const auto &tensor : all)
            TORCH_CHECK_VALUE(tensor.device() == device, "tensors of ", device, " are expected, not one of ", tensor.device());
        const c10::impl::VirtualGuardImpl guard(device_type);
        const std::lock_guard<std::mutex> lock(mutex_);
        const auto stream = stream_on(index);
        c10::Event ready(device_type);
        ready.record(guard.getStream(device));
        ready.block(stream);
        for (const auto &tensor : all)
            if (tensor.has_storage()) guard.recordDataPtrOnStream(tensor.storage().data_ptr(), stream);
        auto future = c10::make_intrusive<Future>(c10::ListType::create(c10::TensorType::get()), std::vector<c10::Device>{device});
        if (is_shared()) {
            const c10::StreamGuard in_order(stream);
            share(stream, all, written, call);
            future->markCompleted(written);
        } else {
            worker_->submit([=, this] { stage(*future, stream, read, written, call); });
        }
        return c10::make_intrusive<Asked>(rank_, future, worker_);
    }

    // The engine works on copies in pinned memory.
    void stage(Future &future, c10::Stream stream, const Tensors &read, const Tensors &written, const Call &call) {
        try {
            const at::NoGradGuard without_gradients;
            const c10::StreamGuard in_order(stream);
            Doubles hosts([](const at::Tensor &tensor) {
                return at::empty(tensor.sizes(), tensor.options().device(c10::kCPU).pinned_memory(true));
            });
            for (const auto &tensor : read) hosts.of(tensor).copy_(tensor, true);
            stream.synchronize();
            if (const auto work = call(*engine_, hosts)) work->wait();
            for (const auto &tensor : written) {
                auto target = tensor;
                target.copy_(hosts.of(tensor), true);
            }
            future.markCompleted(written);
        } catch (...) {
            future.setError(std::current_exception());
        }
    }

    // The engine works on the memory itself, in the driver's stream.
    void share(c10::Stream stream, const Tensors &all, const Tensors &written, const Call &call) {
        const at::NoGradGuard without_gradients;
        const c10::Device peer(c10::kCUDA, peers_.at(stream.device_index()));
        // Tensors with gaps are worked on in copies.
        std::vector<std::pair<at::Tensor, at::Tensor>> copies;
        Doubles views([&](const at::Tensor &tensor) {
            const auto whole = tensor.contiguous();
            if (!whole.is_same(tensor)) copies.emplace_back(tensor, whole);
            return at::from_blob(whole.data_ptr(), whole.sizes(), [whole](void *) {}, whole.options().device(peer), peer);
        });
        // Made now: nothing of ours may be submitted to the stream while it is lent.
        (void)views.of(all);
        Loan loan{[&](void *native_stream) {
            const c10::impl::VirtualGuardImpl theirs(c10::kCUDA);
            const auto before = theirs.exchangeDevice(peer);
            // Streams of others have their driver's handle for a number (c10/cuda/CUDAStream.cpp).
            const c10::Stream lent(c10::Stream::UNSAFE, peer, static_cast<c10::StreamId>(reinterpret_cast<std::intptr_t>(native_stream)));
            const auto current = theirs.exchangeStream(lent);
            const auto end = [&] {
                theirs.exchangeStream(current);
                theirs.uncheckedSetDevice(before);
            };
            try {
                if (const auto work = call(*engine_, views)) work->wait();
            } catch (...) {
                end();
                throw;
            }
            end();
        }};
        bool was_lent = false;
        const auto status = agpu_stream_lend(stream_handle(stream.device_index(), stream.id()), &Loan::call, &loan, &was_lent);
        if (loan.error) std::rethrow_exception(loan.error);
        check(status);
        TORCH_INTERNAL_ASSERT(was_lent, "a device that torch does not see was to be shared with it");
        for (const auto &[tensor, copy] : copies)
            for (const auto &target : written)
                if (target.is_same(tensor)) tensor.copy_(copy);
    }

    struct Loan {
        std::function<void(void *)> work;
        std::exception_ptr error = nullptr;

        static int call(void *native_stream, void *data) noexcept {
            auto &loan = *static_cast<Loan *>(data);
            try {
                loan.work(native_stream);
                return 0;
            } catch (...) {
                loan.error = std::current_exception();
                return 1;
            }
        }
    };

    c10::intrusive_ptr<Backend> engine_;
    // The numbers that torch's own devices have for those of rdna; none where the engine works on copies.
    std::vector<c10::DeviceIndex> peers_;
    std::mutex mutex_;
    std::unordered_map<c10::DeviceIndex, c10::Stream> streams_;
    std::shared_ptr<Worker> worker_;
};

} // namespace

c10::intrusive_ptr<Backend> make_collectives(c10::intrusive_ptr<Backend> engine, std::vector<c10::DeviceIndex> peers) {
    return c10::make_intrusive<Collectives>(std::move(engine), std::move(peers));
}

} // namespace amdgpu_torch
