/* Names and addresses that the test kubelet gives out: its nodes, and one IP per live Pod. Pure. */
#ifndef TESTKUBELET_ADDRESS_H
#define TESTKUBELET_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

enum { ADDRESS_SIZE = 16 };

/* Nodes are base-0 … base-(count-1), or just base when `single`. */
struct node_names {
	const char *base;
	int count;
	bool single;
};

/* Writes node index's name. The caller frees. */
char *node_name(const struct node_names *names, int index);
/* The index of a node of ours, or -1. */
int node_index(const struct node_names *names, const char *name);

/* A block of IPv4 addresses; those ending in .0 and .255 are not given out. */
struct address_block {
	uint32_t first; /* network address, host byte order */
	uint32_t size;  /* a power of two >= 256 */
};

/* The n-th usable address; counts on from the start past the end. */
uint32_t address_at(const struct address_block *block, uint64_t n);
/* Writes it as "10.0.0.1". Returns out. */
char *address_format(uint32_t address, char out[ADDRESS_SIZE]);
/* true and *out when text is an IPv4 address within the block. */
bool address_parse(const struct address_block *block, const char *text, uint32_t *out);

#endif
