// In the manner of Rodinia's bfs: structs shared by host and device, global host state, two kernels in turns.
#include <cstdlib>
#include <cstdio>
#include <cstring>
#include <cmath>
#include <map>
#include <string>
#include <memory>
#include <cuda_runtime.h>
#include <helper_cuda.h>

#define MAX_THREADS_PER_BLOCK 512

int no_of_nodes;
int edge_list_size;
FILE* fp;
std::map<std::string, int> settings = {{"verbose", 1}, {"runs", 3}};

struct Node {
    int starting;
    int no_of_edges;
};

struct Timer {
    cudaEvent_t begin, end;
    Timer() { cudaEventCreate(&begin); cudaEventCreate(&end); }
    ~Timer() { cudaEventDestroy(begin); cudaEventDestroy(end); }
    float stop() { float ms; cudaEventElapsedTime(&ms, begin, end); return ms; }
};

typedef unsigned char flag_t;

__global__ void Kernel(Node* g_graph_nodes, int* g_graph_edges, flag_t* mask, flag_t* updating, flag_t* visited, int* cost, int no_of_nodes) {
    int tid = blockIdx.x * MAX_THREADS_PER_BLOCK + threadIdx.x;
    if (tid < no_of_nodes && mask[tid]) {
        mask[tid] = false;
        for (int i = g_graph_nodes[tid].starting; i < (g_graph_nodes[tid].no_of_edges + g_graph_nodes[tid].starting); i++) {
            int id = g_graph_edges[i];
            if (!visited[id]) {
                cost[id] = cost[tid] + 1;
                updating[id] = true;
            }
        }
    }
}

__global__ void Kernel2(flag_t* mask, flag_t* updating, flag_t* visited, flag_t* over, int no_of_nodes) {
    int tid = blockIdx.x * MAX_THREADS_PER_BLOCK + threadIdx.x;
    if (tid < no_of_nodes && updating[tid]) {
        mask[tid] = true;
        visited[tid] = true;
        *over = true;
        updating[tid] = false;
    }
}

void BFSGraph(int argc, char** argv);

int main(int argc, char** argv) {
    no_of_nodes = 0;
    edge_list_size = 0;
    try {
        BFSGraph(argc, argv);
    } catch (const std::exception& e) {
        fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}

void BFSGraph(int argc, char** argv) {
    if (argc != 2) throw std::runtime_error("usage: bfs input");
    fp = fopen(argv[1], "r");
    if (fscanf(fp, "%d", &no_of_nodes) != 1) goto failed;
    {
        auto nodes = std::make_unique<Node[]>(no_of_nodes);
        Node* d_nodes;
        checkCudaErrors(cudaMalloc((void**)&d_nodes, sizeof(Node) * no_of_nodes));
        dim3 grid((no_of_nodes + MAX_THREADS_PER_BLOCK - 1) / MAX_THREADS_PER_BLOCK, 1, 1);
        dim3 threads(MAX_THREADS_PER_BLOCK, 1, 1);
        Timer timer;
        bool stop;
        do {
            stop = false;
            Kernel<<<grid, threads, 0>>>(d_nodes, nullptr, nullptr, nullptr, nullptr, nullptr, no_of_nodes);
            Kernel2<<<grid, threads, 0>>>(nullptr, nullptr, nullptr, nullptr, no_of_nodes);
        } while (stop);
        printf("%s took %f ms\n", argv[0], timer.stop());
    }
    return;
failed:
    fprintf(stderr, "bad file\n");
}
