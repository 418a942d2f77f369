/* The machine description and the gate that every call passes. The description is read again when the file's identity
 * (inode, size, time) has changed: at the next call, or with FAKE_NVML_STATIC=1 only at init. */
#include "fake.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { STEP_MS = 10 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char path[4096];
static bool is_static;
static struct stat read_at;
static struct json *description;

const struct json *machine(void) {
    return description;
}

static char *read_text(FILE *file, size_t size) {
    char *text = malloc(size + 1);
    if (!text) abort();
    text[fread(text, 1, size, file)] = '\0';
    return text;
}

static void parse(char *text) {
    const char *fault;
    size_t offset;
    json_free(description);
    description = json_parse(text, &fault, &offset);
    if (!description) fprintf(stderr, "fake NVML: %s, byte %zu: %s\n", path, offset, fault);
    free(text);
}

static bool is_unchanged(const struct stat *now) {
    return now->st_ino == read_at.st_ino && now->st_size == read_at.st_size && now->st_dev == read_at.st_dev &&
           now->st_mtim.tv_sec == read_at.st_mtim.tv_sec && now->st_mtim.tv_nsec == read_at.st_mtim.tv_nsec;
}

/* A file that is gone for a moment leaves the last description in force. */
static void refresh(void) {
    struct stat now;
    if (stat(path, &now) || is_unchanged(&now)) return;
    FILE *file = fopen(path, "re");
    if (!file) return;
    if (!fstat(fileno(file), &now)) {
        parse(read_text(file, (size_t)now.st_size));
        read_at = now;
    }
    fclose(file);
}

static nvmlReturn_t refresh_at_init(void) {
    struct stat there;
    const char *named = getenv("FAKE_NVML_MACHINE"), *fixed = getenv("FAKE_NVML_STATIC");
    is_static = fixed && !strcmp(fixed, "1");
    if (!named || strlen(named) >= sizeof path) {
        fprintf(stderr, "fake NVML: FAKE_NVML_MACHINE must name a machine description\n");
        return NVML_ERROR_DRIVER_NOT_LOADED;
    }
    if (strcmp(path, named)) {
        strcpy(path, named);
        memset(&read_at, 0, sizeof read_at);
    }
    if (stat(path, &there)) {
        fprintf(stderr, "fake NVML: FAKE_NVML_MACHINE names %s, which is not there\n", path);
        return NVML_ERROR_DRIVER_NOT_LOADED;
    }
    refresh();
    return description ? NVML_SUCCESS : NVML_ERROR_UNKNOWN;
}

static const struct json *setting(const struct json *owner, const char *what, const char *name, bool any) {
    const struct json *table = json_member(owner, what), *value = json_member(table, name);
    return value || !any ? value : json_member(table, "*");
}

/* "hang" or "fail" for this call: the machine's, the GPU's, the instance's. The innermost that says anything wins. */
static const struct json *disturbance(const struct call *call, const char *what) {
    const struct json *value = setting(call->instance, what, call->name, true);
    if (!value) value = setting(call->gpu, what, call->name, true);
    return value ? value : setting(description, what, call->name, false);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Others may call meanwhile. */
bool sleep_a_step(void) {
    unsigned session = session_number();
    struct timespec step = {.tv_nsec = STEP_MS * 1000000L};
    pthread_mutex_unlock(&lock);
    nanosleep(&step, NULL);
    pthread_mutex_lock(&lock);
    if (!is_static) refresh();
    return session_is_open() && session_number() == session;
}

/* "hang" holds its call for so many seconds, a negative number for as long as it stands in the description. */
static bool is_hanging(const struct json *hang, double since) {
    double limit = json_number(hang, 0);
    return limit < 0 || seconds() - since < limit;
}

nvmlReturn_t failure_of(const struct call *call) {
    return error_named(disturbance(call, "fail"));
}

static nvmlReturn_t admit(struct call *call) {
    bool needs_session = call->target != TARGET_INIT, goes_on = true;
    double since = seconds();
    if (needs_session && !session_is_open()) return NVML_ERROR_UNINITIALIZED;
    nvmlReturn_t found = needs_session ? NVML_SUCCESS : refresh_at_init();
    if (found) return found;
    if (!is_static) refresh();
    do {
        if (needs_session && !goes_on) return NVML_ERROR_UNINITIALIZED;
        if (!description) return NVML_ERROR_UNKNOWN;
        found = find_subject(call);
    } while (is_hanging(disturbance(call, "hang"), since) && ((goes_on = sleep_a_step()), true));
    nvmlReturn_t failure = failure_of(call);
    return failure ? failure : found;
}

nvmlReturn_t enter(struct call *call) {
    pthread_mutex_lock(&lock);
    nvmlReturn_t result = admit(call);
    if (result) pthread_mutex_unlock(&lock);
    return result;
}

nvmlReturn_t leave(nvmlReturn_t result) {
    pthread_mutex_unlock(&lock);
    return result;
}

/* Newest version of its structure that a call takes: an older driver says less in "max_versions". */
unsigned accepted_version(const struct call *call, unsigned newest) {
    unsigned said = (unsigned)json_bits(json_member(json_member(description, "max_versions"), call->name), newest);
    return said < newest ? said : newest;
}

__attribute__((destructor)) static void forget(void) {
    json_free(description);
    description = NULL;
}
