/* From what a call names (a handle, an index, a UUID, a bus id) to the entries of the machine description. Nothing is
 * kept: each call looks anew, so that a GPU taken out of the description is lost to its handle at the next call. */
#include "fake.h"

#include <stdio.h>
#include <string.h>

static const char *gpu_key(const struct json *gpu) {
    const char *uuid = json_text(json_member(gpu, "uuid"), NULL);
    return uuid ? uuid : json_text(json_member(gpu, "pci_address"), "");
}

static const char *mig_key(const struct json *mig, char made[KEY_SIZE]) {
    const char *uuid = json_text(json_member(mig, "uuid"), NULL);
    if (uuid) return uuid;
    snprintf(made, KEY_SIZE, "%u/%u", number_in(mig, "gi_id"), number_in(mig, "ci_id"));
    return made;
}

static void copy_key(const char *text, char key[KEY_SIZE]) {
    strncpy(key, text, KEY_SIZE - 1);
}

const struct json *find_gpu(const char *key) {
    const struct json *gpus = json_member(machine(), "gpus");
    for (const struct json *gpu = gpus ? gpus->child : NULL; gpu; gpu = gpu->next) {
        if (!strncmp(gpu_key(gpu), key, KEY_SIZE - 1)) return gpu;
    }
    return NULL;
}

static const struct json *find_mig(const struct json *gpu, const char *key) {
    const struct json *devices = json_path(gpu, "mig.devices");
    char made[KEY_SIZE];
    for (const struct json *mig = devices ? devices->child : NULL; mig; mig = mig->next) {
        if (mig->type == JSON_OBJECT && !strncmp(mig_key(mig, made), key, KEY_SIZE - 1)) return mig;
    }
    return NULL;
}

static bool has_id(const struct json *entry, const char *name, unsigned id) {
    return json_bits(json_member(entry, name), NVML_ANY_INSTANCE) == id;
}

/* GPU instances follow from the MIG devices; those without a compute instance stand in "gpu_instances". */
const struct json *find_gpu_instance(const struct json *gpu, unsigned id) {
    const struct json *devices = json_path(gpu, "mig.devices"), *bare = json_path(gpu, "mig.gpu_instances");
    for (const struct json *mig = devices ? devices->child : NULL; mig; mig = mig->next) {
        if (has_id(mig, "gi_id", id)) return mig;
    }
    for (const struct json *instance = bare ? bare->child : NULL; instance; instance = instance->next) {
        if (has_id(instance, "gi_id", id)) return instance;
    }
    return NULL;
}

const struct json *find_compute_instance(const struct json *gpu, unsigned gpu_instance, unsigned id) {
    const struct json *devices = json_path(gpu, "mig.devices");
    for (const struct json *mig = devices ? devices->child : NULL; mig; mig = mig->next) {
        if (has_id(mig, "gi_id", gpu_instance) && has_id(mig, "ci_id", id)) return mig;
    }
    return NULL;
}

struct subject gpu_subject(const struct json *gpu) {
    struct subject subject = {.kind = KIND_GPU};
    copy_key(gpu_key(gpu), subject.gpu);
    return subject;
}

struct subject mig_subject(const struct json *gpu, const struct json *mig) {
    struct subject subject = gpu_subject(gpu);
    char made[KEY_SIZE];
    subject.kind = KIND_MIG;
    copy_key(mig_key(mig, made), subject.mig);
    return subject;
}

bool parse_pci_address(const char *text, struct pci_address *address) {
    unsigned function;
    char after;
    return text && sscanf(text, "%8x:%2x:%2x.%1x%c", &address->domain, &address->bus, &address->device, &function,
                          &after) == 4;
}

static bool has_bus_id(const struct json *gpu, const struct pci_address *wanted) {
    struct pci_address own;
    return parse_pci_address(json_text(json_member(gpu, "pci_address"), NULL), &own) && own.domain == wanted->domain &&
           own.bus == wanted->bus && own.device == wanted->device;
}

static bool has_text(const struct json *entry, const char *name, const char *wanted) {
    const char *own = json_text(json_member(entry, name), NULL);
    return own && !strcmp(own, wanted);
}

/* The GPU that a call names other than by a handle. */
static const struct json *named_gpu(struct call *call, const struct pci_address *address) {
    const struct json *gpus = json_member(machine(), "gpus");
    if (call->target == TARGET_INDEX) return json_element(gpus, call->index);
    for (const struct json *gpu = gpus ? gpus->child : NULL; gpu; gpu = gpu->next) {
        if (call->target == TARGET_BUS_ID && has_bus_id(gpu, address)) return gpu;
        if (call->target == TARGET_SERIAL && has_text(gpu, "serial", call->text)) return gpu;
        if (call->target != TARGET_UUID) continue;
        if (has_text(gpu, "uuid", call->text) || (call->instance = find_mig(gpu, call->text))) return gpu;
    }
    return NULL;
}

static nvmlReturn_t find_named(struct call *call) {
    struct pci_address address = {0};
    if (call->target != TARGET_INDEX && !call->text) return NVML_ERROR_INVALID_ARGUMENT;
    if (call->target == TARGET_BUS_ID && !parse_pci_address(call->text, &address)) return NVML_ERROR_INVALID_ARGUMENT;
    call->gpu = named_gpu(call, &address);
    if (!call->gpu) return call->target == TARGET_INDEX ? NVML_ERROR_INVALID_ARGUMENT : NVML_ERROR_NOT_FOUND;
    call->subject = call->instance ? mig_subject(call->gpu, call->instance) : gpu_subject(call->gpu);
    return session_attach(call->gpu);
}

static bool fits(enum target target, enum kind kind) {
    switch (target) {
    case TARGET_DEVICE: return kind == KIND_GPU || kind == KIND_MIG;
    case TARGET_GPU: return kind == KIND_GPU;
    case TARGET_MIG: return kind == KIND_MIG;
    case TARGET_GPU_INSTANCE: return kind == KIND_GPU_INSTANCE;
    case TARGET_COMPUTE_INSTANCE: return kind == KIND_COMPUTE_INSTANCE;
    case TARGET_EVENT_SET: return kind == KIND_EVENT_SET;
    default: return false;
    }
}

static const struct json *handled_instance(const struct json *gpu, const struct subject *subject) {
    if (subject->kind == KIND_MIG) return find_mig(gpu, subject->mig);
    if (subject->kind == KIND_GPU_INSTANCE) return find_gpu_instance(gpu, subject->gpu_instance);
    return find_compute_instance(gpu, subject->gpu_instance, subject->compute_instance);
}

static nvmlReturn_t find_handled(struct call *call) {
    struct subject *subject = &call->subject;
    if (!handle_subject(call->handle, subject)) return NVML_ERROR_INVALID_ARGUMENT;
    if (!fits(call->target, subject->kind)) return NVML_ERROR_INVALID_ARGUMENT;
    if (subject->kind == KIND_EVENT_SET) return NVML_SUCCESS;
    if (!(call->gpu = find_gpu(subject->gpu))) return NVML_ERROR_GPU_IS_LOST;
    if (subject->kind == KIND_GPU) return NVML_SUCCESS;
    call->instance = handled_instance(call->gpu, subject);
    return call->instance ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t find_subject(struct call *call) {
    call->gpu = call->instance = NULL;
    switch (call->target) {
    case TARGET_SYSTEM:
    case TARGET_INIT: return NVML_SUCCESS;
    case TARGET_INDEX:
    case TARGET_UUID:
    case TARGET_SERIAL:
    case TARGET_BUS_ID: return find_named(call);
    default: return find_handled(call);
    }
}
