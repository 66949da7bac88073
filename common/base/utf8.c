/* See utf8.h. */
#include "common/base/utf8.h"

uint32_t utf8_decode(const char *text, size_t len)
{
	static const unsigned char first_bits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
	uint32_t character = (unsigned char)text[0] & first_bits[len];

	for (size_t i = 1; i < len; i++)
		character = character << 6 | ((unsigned char)text[i] & 0x3F);
	return character;
}

size_t utf8_sequence(const char *bytes, size_t len)
{
	const unsigned char *text = (const unsigned char *)bytes;
	size_t need;
	unsigned char low = 0x80;
	unsigned char high = 0xBF;

	if (text[0] < 0x80)
		return 1;
	if (text[0] >= 0xC2 && text[0] <= 0xDF)
		need = 2;
	else if (text[0] >= 0xE0 && text[0] <= 0xEF)
		need = 3;
	else if (text[0] >= 0xF0 && text[0] <= 0xF4)
		need = 4;
	else
		return 0;
	if (len < need)
		return 0;
	if (text[0] == 0xE0)
		low = 0xA0;
	else if (text[0] == 0xED)
		high = 0x9F;
	else if (text[0] == 0xF0)
		low = 0x90;
	else if (text[0] == 0xF4)
		high = 0x8F;
	if (text[1] < low || text[1] > high)
		return 0;
	for (size_t i = 2; i < need; i++)
		if ((text[i] & 0xC0) != 0x80)
			return 0;
	return need;
}

bool utf8_is_unsafe(uint32_t c)
{
	return c < 0x20 || (c >= 0x7F && c <= 0x9F) || c == 0x061C || (c >= 0x200E && c <= 0x200F) ||
	       (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0xFEFF ||
	       (c >= 0xFFF9 && c <= 0xFFFB) || (c >= 0xE0000 && c <= 0xE007F);
}
