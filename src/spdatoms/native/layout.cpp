// What Python must know of the registers: how many bytes one has, and the edge of a tile.
#include "vector.hpp"

EXPORT spdatoms::Int register_bytes(const void *) { return spdatoms::REGISTER; }
EXPORT spdatoms::Int tile_edge(const void *) { return spdatoms::TILE; }
