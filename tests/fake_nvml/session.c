/* One NVML session: how often it was opened, the device nodes it keeps open, and the handles it has given out. All of
 * it ends with the last nvmlShutdown; a handle of an earlier session is then refused, where the real library would
 * follow a stale pointer. */
#include "fake.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NODE_LIMIT = 256, HANDLE_LIMIT = 4096, CONTROL_NODE = NODE_LIMIT };

static unsigned opened;
static unsigned number;
static int nodes[NODE_LIMIT + 1]; /* By minor number: descriptor + 1, so that zero means closed. */
static struct subject handles[HANDLE_LIMIT];
static unsigned handle_count;

bool session_is_open(void) {
    return opened > 0;
}

unsigned session_number(void) {
    return number;
}

static nvmlReturn_t open_node(const char *name, int *node) {
    const char *folder = json_text(json_member(machine(), "open_device_nodes"), NULL);
    char path[4096];
    if (!folder || *node) return NVML_SUCCESS;
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) return NVML_ERROR_UNKNOWN;
    int descriptor = open(path, O_RDWR | O_CLOEXEC);
    if (descriptor < 0) {
        return errno == EACCES || errno == EPERM ? NVML_ERROR_NO_PERMISSION : NVML_ERROR_DRIVER_NOT_LOADED;
    }
    *node = descriptor + 1;
    return NVML_SUCCESS;
}

nvmlReturn_t session_attach(const struct json *gpu) {
    char name[32];
    unsigned long long minor = json_bits(json_member(gpu, "minor"), NODE_LIMIT);
    if (minor >= NODE_LIMIT) return NVML_SUCCESS;
    snprintf(name, sizeof name, "nvidia%llu", minor);
    return open_node(name, &nodes[minor]);
}

static void close_nodes(void) {
    for (unsigned i = 0; i <= NODE_LIMIT; i++) {
        if (nodes[i]) close(nodes[i] - 1);
        nodes[i] = 0;
    }
}

/* A GPU whose node cannot be opened does not fail init: it is counted, and asking for its handle tells. */
nvmlReturn_t session_open(unsigned flags) {
    if (!opened) {
        nvmlReturn_t result = open_node("nvidiactl", &nodes[CONTROL_NODE]);
        if (result) return result;
        number++;
        const struct json *gpus = json_member(machine(), "gpus");
        for (unsigned i = 0; !(flags & NVML_INIT_FLAG_NO_ATTACH) && i < json_length(gpus); i++) {
            session_attach(json_element(gpus, i));
        }
    }
    opened++;
    return NVML_SUCCESS;
}

nvmlReturn_t session_close(void) {
    if (--opened) return NVML_SUCCESS;
    close_nodes();
    event_sets_drop();
    handle_count = 0;
    return NVML_SUCCESS;
}

static bool same(const struct subject *one, const struct subject *other) {
    return one->kind == other->kind && !strcmp(one->gpu, other->gpu) && !strcmp(one->mig, other->mig) &&
           one->gpu_instance == other->gpu_instance && one->compute_instance == other->compute_instance &&
           one->event_set == other->event_set;
}

/* A handle is the session's number and, in the low 16 bits, a position counted from 1. */
const void *handle_for(const struct subject *subject) {
    unsigned position = 0;
    while (position < handle_count && !same(&handles[position], subject)) position++;
    if (position == HANDLE_LIMIT) return NULL;
    if (position == handle_count) handles[handle_count++] = *subject;
    return (const void *)((uintptr_t)number << 16 | (position + 1));
}

bool handle_subject(const void *handle, struct subject *subject) {
    uintptr_t value = (uintptr_t)handle;
    unsigned position = (unsigned)(value & 0xFFFF) - 1;
    if (value >> 16 != number || position >= handle_count) return false;
    *subject = handles[position];
    return subject->kind != KIND_NONE;
}
