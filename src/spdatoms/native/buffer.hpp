// Memory for one call of a kernel.
//
// What malloc is given back it may hand to the system, and every page that it fetches anew costs a fault: for a few
// matrices of 128×128 that is more than the work. So large blocks are kept for the next call, of any thread: some for
// every power of two, and not more than KEPT_BYTES in all.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace spdatoms {

using Int = std::int64_t;

constexpr Int LEAST_KEPT = Int(1) << 16, KEPT_BYTES = Int(1) << 26;
constexpr int KEPT_SIZES = 9, KEPT_OF_A_SIZE = 4;
#if defined(__SANITIZE_ADDRESS__)
constexpr bool KEEP = false;  // a block that is larger than asked for would hide what writes past its end
#else
constexpr bool KEEP = true;
#endif

inline std::atomic<void *> kept[KEPT_SIZES][KEPT_OF_A_SIZE];
inline std::atomic<Int> kept_bytes{0};

class Memory {
    int power;  // the block has LEAST_KEPT·2^power bytes; −1 if it is not one that is kept
    void *block;

    Int bytes() const { return LEAST_KEPT << power; }

  public:
    explicit Memory(Int size) : power(-1), block(nullptr) {
        if (!KEEP || size < LEAST_KEPT || size > LEAST_KEPT << (KEPT_SIZES - 1)) {
            block = std::malloc(size);
            return;
        }
        for (power = 0; bytes() < size; ++power) {}
        for (auto &place : kept[power])
            if ((block = place.exchange(nullptr))) {
                kept_bytes -= bytes();
                return;
            }
        block = std::malloc(bytes());
    }
    Memory(const Memory &) = delete;
    Memory &operator=(const Memory &) = delete;
    ~Memory() {
        if (block && power >= 0) {
            if ((kept_bytes += bytes()) <= KEPT_BYTES)
                for (auto &place : kept[power]) {
                    void *empty = nullptr;
                    if (place.compare_exchange_strong(empty, block)) return;
                }
            kept_bytes -= bytes();
        }
        std::free(block);
    }
    void *start() const { return block; }
};

// So many numbers, aligned to registers; false if there is no memory (no exception crosses the border).
template <class T> class Buffer {
    const Memory memory;

  public:
    explicit Buffer(Int count) : memory(count * sizeof(T) + 64) {}
    explicit operator bool() const { return memory.start() != nullptr; }
    T *data() const { return reinterpret_cast<T *>((reinterpret_cast<std::uintptr_t>(memory.start()) + 63) / 64 * 64); }
};

// What kernels return that may need memory: `Kernel` in __init__.py raises MemoryError for it.
constexpr Int DONE = 0, NO_MEMORY = INT64_MIN;

}  // namespace spdatoms
