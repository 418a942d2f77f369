/* What the source files of the fake share. Every exported function has the same shape:
 *
 *     struct call call = {.name = __func__, .target = TARGET_GPU, .handle = device};
 *     nvmlReturn_t result = enter(&call);
 *     return result ? result : leave(...what it answers...);
 *
 * enter() takes the one lock, notices a changed machine description, refuses calls outside a session, finds what the
 * call is about, and applies "hang" and "fail"; a call that hangs sleeps without the lock. leave() gives the lock back.
 */
#ifndef FAKE_NVML_FAKE_H
#define FAKE_NVML_FAKE_H

#include "abi.h"
#include "json.h"

#define NVML_CALL __attribute__((visibility("default"))) nvmlReturn_t

enum target {
    TARGET_SYSTEM,
    TARGET_INIT,             /* As TARGET_SYSTEM, and needs no session. */
    TARGET_DEVICE,           /* .handle: a GPU or a MIG device. */
    TARGET_GPU,              /* .handle: a GPU; a MIG device is an invalid argument. */
    TARGET_MIG,              /* .handle: a MIG device; a GPU is an invalid argument. */
    TARGET_GPU_INSTANCE,     /* .handle */
    TARGET_COMPUTE_INSTANCE, /* .handle */
    TARGET_EVENT_SET,        /* .handle */
    TARGET_INDEX,            /* .index of a GPU. */
    TARGET_UUID,             /* .text of a GPU or a MIG device. */
    TARGET_SERIAL,           /* .text */
    TARGET_BUS_ID,           /* .text */
};

enum kind { KIND_NONE, KIND_GPU, KIND_MIG, KIND_GPU_INSTANCE, KIND_COMPUTE_INSTANCE, KIND_EVENT_SET };

enum { KEY_SIZE = 128 };

/* What a handle stands for. Names, not positions, so that it survives a change of the machine description. */
struct subject {
    enum kind kind;
    char gpu[KEY_SIZE]; /* UUID of the GPU, or what stands for it where the description gives none. */
    char mig[KEY_SIZE]; /* The same for a MIG device. */
    unsigned gpu_instance, compute_instance;
    unsigned event_set;
};

struct call {
    const char *name;
    enum target target;
    const void *handle;
    const char *text;
    unsigned index;
    /* Set by enter(): */
    struct subject subject;
    const struct json *gpu;      /* The GPU's entry, or NULL. */
    const struct json *instance; /* The MIG device's, GPU instance's or compute instance's entry, or NULL. */
};

/* machine.c: the description, and the way in and out of every call. */
nvmlReturn_t enter(struct call *call);
nvmlReturn_t failure_of(const struct call *call); /* What "fail" has for it now; enter() has asked once. */
nvmlReturn_t leave(nvmlReturn_t result);
const struct json *machine(void);
bool sleep_a_step(void); /* Within a call, without the lock; false when the session has ended meanwhile. */
unsigned accepted_version(const struct call *call, unsigned newest);

/* session.c: init count, device nodes, handles. */
bool session_is_open(void);
unsigned session_number(void);
nvmlReturn_t session_open(unsigned flags);
nvmlReturn_t session_close(void);
nvmlReturn_t session_attach(const struct json *gpu);
const void *handle_for(const struct subject *subject);
bool handle_subject(const void *handle, struct subject *subject);

/* subjects.c: from a call's target to entries of the description. */
nvmlReturn_t find_subject(struct call *call);
const struct json *find_gpu(const char *key);
const struct json *find_gpu_instance(const struct json *gpu, unsigned id);
const struct json *find_compute_instance(const struct json *gpu, unsigned gpu_instance, unsigned id);
struct subject gpu_subject(const struct json *gpu);
struct subject mig_subject(const struct json *gpu, const struct json *mig);
struct pci_address {
    unsigned domain, bus, device;
};
bool parse_pci_address(const char *text, struct pci_address *address);

/* profiles.c */
const struct json *profile_by(const struct json *gpu, const char *name, unsigned wanted);
unsigned profile_id_of(const struct json *gpu, const struct json *instance);
unsigned compute_profile_slices(unsigned index);

/* answers.c: from JSON values to the caller's memory; what is absent is NOT_SUPPORTED. */
nvmlReturn_t error_named(const struct json *name);
unsigned number_in(const struct json *entry, const char *path); /* 0 where absent. */
nvmlReturn_t put_uint(const struct json *value, unsigned *out);
nvmlReturn_t put_int(const struct json *value, int *out);
nvmlReturn_t put_ull(const struct json *value, unsigned long long *out);
nvmlReturn_t put_text(const struct json *value, char *out, unsigned size);
nvmlReturn_t put_handle(const struct subject *subject, const void **out);
/* Whole calls that answer one fact of a GPU, named by its path in the GPU's entry; NULL where the caller's arguments
 * name none. */
nvmlReturn_t gpu_uint(const char *name, nvmlDevice_t device, const char *path, unsigned *out);
nvmlReturn_t gpu_ull(const char *name, nvmlDevice_t device, const char *path, unsigned long long *out);
nvmlReturn_t gpu_text(const char *name, nvmlDevice_t device, const char *path, char *out, unsigned size);

/* events.c */
void event_sets_drop(void);

#endif
