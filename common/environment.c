/* Host, kernel, processors. */
#include "common/environment.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/json_out.h"

/* The first line of a file, or what follows "key : " in it. */
static int read_line(const char *path, const char *key, char *text, size_t room)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return -1;
    int found = -1;
    char line[256];
    while (found && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        const char *value = line;
        if (key) {
            if (strncmp(line, key, strlen(key)) != 0)
                continue;
            value = strchr(line, ':');
            if (!value)
                continue;
            value += 1 + strspn(value + 1, " \t");
        }
        snprintf(text, room, "%.*s", (int)room - 1, value);
        found = 0;
    }
    fclose(file);
    return found;
}

static void set_text(json_t *object, const char *key, const char *text)
{
    /* Text that is no UTF-8 is refused by jansson and so left out. */
    if (text[0])
        json_object_set_new(object, key, json_string(text));
}

json_t *environment_describe(void)
{
    json_t *object = json_object();
    struct utsname system;
    char text[256];
    if (!object)
        return NULL;
    if (uname(&system) == 0) {
        set_text(object, "host", system.nodename);
        set_text(object, "kernel", system.release);
        set_text(object, "machine", system.machine);
    }
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    if (cpus > 0)
        json_object_set_new(object, "cpus", json_u64((uint64_t)cpus));
    if (read_line("/proc/cpuinfo", "model name", text, sizeof text) == 0)
        set_text(object, "cpu_model", text);
    if (read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", NULL, text,
                  sizeof text) == 0)
        set_text(object, "governor", text);
    return object;
}
