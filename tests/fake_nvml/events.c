/* Event sets over the description's "events", whose ids grow. A set hands each one out once, if it is registered for
 * the event's GPU and type; a new set starts after the last event that this process has been given. */
#include "fake.h"

#include <string.h>
#include <time.h>

enum { SET_LIMIT = 16, REGISTRATION_LIMIT = 64 };

struct registration {
    char gpu[KEY_SIZE];
    unsigned long long types;
};

struct event_set {
    bool is_used;
    unsigned long long last_id;
    unsigned count;
    struct registration registrations[REGISTRATION_LIMIT];
};

static struct event_set sets[SET_LIMIT];
static unsigned long long last_delivered;

static bool event_set_create(unsigned *number) {
    for (*number = 0; *number < SET_LIMIT; ++*number) {
        if (sets[*number].is_used) continue;
        sets[*number] = (struct event_set){.is_used = true, .last_id = last_delivered};
        return true;
    }
    return false;
}

void event_sets_drop(void) {
    for (unsigned i = 0; i < SET_LIMIT; i++) sets[i].is_used = false;
}

NVML_CALL nvmlEventSetCreate(nvmlEventSet_t *set) {
    struct call call = {.name = __func__, .target = TARGET_SYSTEM};
    struct subject subject = {.kind = KIND_EVENT_SET};
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    if (!set) return leave(NVML_ERROR_INVALID_ARGUMENT);
    if (!event_set_create(&subject.event_set)) return leave(NVML_ERROR_MEMORY);
    return leave(put_handle(&subject, (const void **)set));
}

NVML_CALL nvmlEventSetFree(nvmlEventSet_t set) {
    struct call call = {.name = __func__, .target = TARGET_EVENT_SET, .handle = set};
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    struct event_set *freed = &sets[call.subject.event_set];
    if (!freed->is_used) return leave(NVML_ERROR_INVALID_ARGUMENT);
    freed->is_used = false;
    return leave(NVML_SUCCESS);
}

NVML_CALL nvmlDeviceGetSupportedEventTypes(nvmlDevice_t device, unsigned long long *types) {
    return gpu_ull(__func__, device, "event_types", types);
}

static struct registration *registration_of(struct event_set *set, const char *gpu) {
    for (unsigned i = 0; i < set->count; i++) {
        if (!strcmp(set->registrations[i].gpu, gpu)) return &set->registrations[i];
    }
    return NULL;
}

static nvmlReturn_t add_registration(struct event_set *set, const char *gpu, unsigned long long types) {
    struct registration *known = registration_of(set, gpu);
    if (!known && set->count == REGISTRATION_LIMIT) return NVML_ERROR_MEMORY;
    if (!known) strcpy((known = &set->registrations[set->count++])->gpu, gpu);
    known->types |= types;
    return NVML_SUCCESS;
}

NVML_CALL nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set) {
    struct call call = {.name = __func__, .target = TARGET_GPU, .handle = device};
    struct subject subject;
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    if (!handle_subject(set, &subject) || subject.kind != KIND_EVENT_SET || !sets[subject.event_set].is_used) {
        return leave(NVML_ERROR_INVALID_ARGUMENT);
    }
    if (types & ~json_bits(json_member(call.gpu, "event_types"), 0)) return leave(NVML_ERROR_NOT_SUPPORTED);
    return leave(add_registration(&sets[subject.event_set], call.subject.gpu, types));
}

/* An event without a UUID concerns a GPU that cannot be told: it wakes every set, with a handle that is none. */
static bool is_wanted(struct event_set *set, const struct json *event) {
    const char *gpu = json_text(json_member(event, "uuid"), NULL);
    const struct registration *registration = gpu ? registration_of(set, gpu) : NULL;
    if (json_bits(json_member(event, "id"), 0) <= set->last_id) return false;
    return !gpu || (registration && registration->types & json_bits(json_member(event, "type"), 0));
}

static const struct json *next_event(struct event_set *set) {
    const struct json *events = json_member(machine(), "events");
    for (const struct json *event = events ? events->child : NULL; event; event = event->next) {
        if (is_wanted(set, event)) return event;
    }
    return NULL;
}

/* A GPU that has left the description meanwhile still has its handle in the event. */
static nvmlReturn_t deliver(struct event_set *set, const struct json *event, nvmlEventData_t *data,
                            bool with_instance) {
    struct subject subject = {.kind = KIND_GPU};
    const char *gpu = json_text(json_member(event, "uuid"), NULL);
    set->last_id = json_bits(json_member(event, "id"), 0);
    if (set->last_id > last_delivered) last_delivered = set->last_id;
    data->eventType = json_bits(json_member(event, "type"), 0);
    data->eventData = json_bits(json_member(event, "data"), 0);
    if (with_instance) {
        data->gpuInstanceId = (unsigned)json_bits(json_member(event, "gi"), NVML_ANY_INSTANCE);
        data->computeInstanceId = (unsigned)json_bits(json_member(event, "ci"), NVML_ANY_INSTANCE);
    }
    data->device = NULL;
    if (!gpu) return NVML_SUCCESS;
    strncpy(subject.gpu, gpu, sizeof subject.gpu - 1);
    return put_handle(&subject, (const void **)&data->device);
}

static double milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static nvmlReturn_t wait_for_event(const char *name, nvmlEventSet_t handle, nvmlEventData_t *data, unsigned timeout_ms,
                                   bool with_instance) {
    struct call call = {.name = name, .target = TARGET_EVENT_SET, .handle = handle};
    double until = milliseconds() + timeout_ms;
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    if (!data) return leave(NVML_ERROR_INVALID_ARGUMENT);
    struct event_set *set = &sets[call.subject.event_set];
    for (;;) {
        if (!set->is_used) return leave(NVML_ERROR_INVALID_ARGUMENT);
        const struct json *event = next_event(set);
        if (event) return leave(deliver(set, event, data, with_instance));
        if ((result = failure_of(&call))) return leave(result);
        if (milliseconds() >= until) return leave(NVML_ERROR_TIMEOUT);
        if (!sleep_a_step()) return leave(NVML_ERROR_UNINITIALIZED);
    }
}

NVML_CALL nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned timeout_ms) {
    return wait_for_event(__func__, set, data, timeout_ms, true);
}

NVML_CALL nvmlEventSetWait(nvmlEventSet_t set, nvmlEventData_t *data, unsigned timeout_ms) {
    return wait_for_event(__func__, set, data, timeout_ms, false);
}
