/* Runs a fuzz target without libFuzzer: every seed file as it is, then cut at many places and with
 * bits flipped, all from a fixed seed, so that each build of the project exercises its readers. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SEED_MAX (4u << 20)
#define CUTS     40
#define FLIPS    160

static uint64_t random_state = 0x9e3779b97f4a7c15ull;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static void run_copy(const uint8_t *bytes, size_t size)
{
    /* An exact-size heap copy, so that AddressSanitizer sees one byte too many. */
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        exit(1);
    memcpy(copy, bytes, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static void damage(uint8_t *bytes, size_t size)
{
    run_copy(bytes, size);
    for (int i = 0; i < CUTS && size; i++)
        run_copy(bytes, next_random() % size);
    for (int i = 0; i < FLIPS && size; i++) {
        /* Half of the flips in the first 256 bytes, where headers are. */
        size_t range = i % 2 && size > 256 ? 256 : size;
        size_t at = next_random() % range;
        uint8_t old = bytes[at];
        bytes[at] ^= (uint8_t)(1u << (next_random() % 8));
        if (i % 4 == 3)
            bytes[at] = 0xff;
        run_copy(bytes, size);
        bytes[at] = old;
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s SEED_FOLDER\n", argv[0]);
        return 2;
    }
    DIR *folder = opendir(argv[1]);
    if (!folder) {
        perror(argv[1]);
        return 1;
    }
    int files = 0;
    uint8_t *bytes = malloc(SEED_MAX);
    for (struct dirent *entry; bytes && (entry = readdir(folder));) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
        if (entry->d_name[0] == '.')
            continue;
        FILE *file = fopen(path, "rb");
        if (!file) {
            perror(path);
            return 1;
        }
        size_t size = fread(bytes, 1, SEED_MAX, file);
        fclose(file);
        damage(bytes, size);
        files++;
    }
    free(bytes);
    closedir(folder);
    printf("%d seeds, each also cut %d times and damaged %d times\n", files, CUTS, FLIPS);
    return files ? 0 : 1;
}
