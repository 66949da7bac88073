/* Node names and Pod addresses; see address.h. */
#include "tests/cluster/testkubelet/address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

/* Of each 256 addresses, without .0 and .255. */
enum { USABLE = 254 };

char *node_name(const struct node_names *names, int index)
{
	return names->single ? mem_strdup(names->base) : mem_printf("%s-%d", names->base, index);
}

int node_index(const struct node_names *names, const char *name)
{
	size_t len = strlen(names->base);
	char *end;
	long index;

	if (name == NULL || strncmp(name, names->base, len) != 0)
		return -1;
	if (names->single)
		return name[len] == '\0' ? 0 : -1;
	if (name[len] != '-' || name[len + 1] < '0' || name[len + 1] > '9')
		return -1;
	if (name[len + 1] == '0' && name[len + 2] != '\0')
		return -1;
	index = strtol(name + len + 1, &end, 10);
	return *end == '\0' && index < names->count ? (int)index : -1;
}

uint32_t address_at(const struct address_block *block, uint64_t n)
{
	uint64_t nets = block->size / 256;
	uint64_t at = n % (nets * USABLE);

	return block->first + (uint32_t)(at / USABLE * 256 + at % USABLE + 1);
}

char *address_format(uint32_t address, char out[ADDRESS_SIZE])
{
	snprintf(out, ADDRESS_SIZE, "%u.%u.%u.%u", address >> 24, address >> 16 & 255, address >> 8 & 255,
		 address & 255);
	return out;
}

bool address_parse(const struct address_block *block, const char *text, uint32_t *out)
{
	struct in_addr parsed;
	uint32_t address;

	if (text == NULL || inet_pton(AF_INET, text, &parsed) != 1)
		return false;
	address = ntohl(parsed.s_addr);
	if (address < block->first || address - block->first >= block->size)
		return false;
	*out = address;
	return true;
}
