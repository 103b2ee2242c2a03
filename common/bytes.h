/* Little- and big-endian loads and stores on byte buffers, for readers of untrusted bytes: a buffer
 * is never cast to a struct. The caller has checked that the bytes are there. */
#ifndef IOREEL_COMMON_BYTES_H
#define IOREEL_COMMON_BYTES_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t load_le16(const void *from)
{
    uint16_t value;
    memcpy(&value, from, sizeof value);
    return le16toh(value);
}

static inline uint32_t load_le32(const void *from)
{
    uint32_t value;
    memcpy(&value, from, sizeof value);
    return le32toh(value);
}

static inline uint64_t load_le64(const void *from)
{
    uint64_t value;
    memcpy(&value, from, sizeof value);
    return le64toh(value);
}

static inline uint16_t load_be16(const void *from)
{
    uint16_t value;
    memcpy(&value, from, sizeof value);
    return be16toh(value);
}

static inline uint32_t load_be32(const void *from)
{
    uint32_t value;
    memcpy(&value, from, sizeof value);
    return be32toh(value);
}

static inline uint64_t load_be64(const void *from)
{
    uint64_t value;
    memcpy(&value, from, sizeof value);
    return be64toh(value);
}

static inline void store_le16(void *to, uint16_t value)
{
    value = htole16(value);
    memcpy(to, &value, sizeof value);
}

static inline void store_le32(void *to, uint32_t value)
{
    value = htole32(value);
    memcpy(to, &value, sizeof value);
}

static inline void store_le64(void *to, uint64_t value)
{
    value = htole64(value);
    memcpy(to, &value, sizeof value);
}

#endif
