/* Answers: values of the machine description into the caller's memory, and return codes by their names. */
#include "fake.h"

#include <stdio.h>
#include <string.h>

struct error {
    nvmlReturn_t code;
    const char *name, *text;
};

static const struct error errors[] = {
    {0, "SUCCESS", "Success"},
    {1, "UNINITIALIZED", "Not initialised"},
    {2, "INVALID_ARGUMENT", "Invalid argument"},
    {3, "NOT_SUPPORTED", "Not supported"},
    {4, "NO_PERMISSION", "No permission"},
    {5, "ALREADY_INITIALIZED", "Already initialised"},
    {6, "NOT_FOUND", "Not found"},
    {7, "INSUFFICIENT_SIZE", "Buffer too small"},
    {8, "INSUFFICIENT_POWER", "Not enough external power"},
    {9, "DRIVER_NOT_LOADED", "Driver not loaded"},
    {10, "TIMEOUT", "Timeout"},
    {11, "IRQ_ISSUE", "Interrupt trouble"},
    {12, "LIBRARY_NOT_FOUND", "Library not found"},
    {13, "FUNCTION_NOT_FOUND", "Function not found"},
    {14, "CORRUPTED_INFOROM", "InfoROM is corrupt"},
    {15, "GPU_IS_LOST", "GPU is lost"},
    {16, "RESET_REQUIRED", "GPU needs a reset"},
    {17, "OPERATING_SYSTEM", "Blocked by the operating system"},
    {18, "LIB_RM_VERSION_MISMATCH", "Library and kernel module differ in version"},
    {19, "IN_USE", "In use"},
    {20, "MEMORY", "Out of memory"},
    {21, "NO_DATA", "No data"},
    {22, "VGPU_ECC_NOT_SUPPORTED", "No vGPU with ECC on"},
    {23, "INSUFFICIENT_RESOURCES", "Out of resources"},
    {24, "FREQ_NOT_SUPPORTED", "Frequency not supported"},
    {25, "ARGUMENT_VERSION_MISMATCH", "Structure version not supported"},
    {26, "DEPRECATED", "Deprecated"},
    {27, "NOT_READY", "Not ready"},
    {28, "GPU_NOT_FOUND", "No GPU found"},
    {29, "INVALID_STATE", "Invalid state"},
    {30, "RESET_TYPE_NOT_SUPPORTED", "Kind of reset not supported"},
    {999, "UNKNOWN", "Unknown error"},
};
enum { ERRORS = sizeof errors / sizeof errors[0] };

nvmlReturn_t error_named(const struct json *name) {
    const char *text = json_text(name, NULL);
    if (!text) return (nvmlReturn_t)json_bits(name, NVML_SUCCESS);
    for (unsigned i = 0; i < ERRORS; i++) {
        if (!strcmp(errors[i].name, text)) return errors[i].code;
    }
    fprintf(stderr, "fake NVML: the machine description names an error %s that NVML does not have\n", text);
    return NVML_ERROR_UNKNOWN;
}

__attribute__((visibility("default"))) const char *nvmlErrorString(nvmlReturn_t code) {
    for (unsigned i = 0; i < ERRORS; i++) {
        if (errors[i].code == code) return errors[i].text;
    }
    return errors[ERRORS - 1].text;
}

unsigned number_in(const struct json *entry, const char *path) {
    return (unsigned)json_bits(json_path(entry, path), 0);
}

nvmlReturn_t put_ull(const struct json *value, unsigned long long *out) {
    if (!out) return NVML_ERROR_INVALID_ARGUMENT;
    if (!value) return NVML_ERROR_NOT_SUPPORTED;
    *out = json_bits(value, 0);
    return NVML_SUCCESS;
}

nvmlReturn_t put_uint(const struct json *value, unsigned *out) {
    unsigned long long bits;
    nvmlReturn_t result = out ? put_ull(value, &bits) : NVML_ERROR_INVALID_ARGUMENT;
    if (!result) *out = (unsigned)bits;
    return result;
}

nvmlReturn_t put_int(const struct json *value, int *out) {
    unsigned bits;
    nvmlReturn_t result = out ? put_uint(value, &bits) : NVML_ERROR_INVALID_ARGUMENT;
    if (!result) *out = (int)bits;
    return result;
}

nvmlReturn_t put_text(const struct json *value, char *out, unsigned size) {
    const char *text = json_text(value, NULL);
    if (!out) return NVML_ERROR_INVALID_ARGUMENT;
    if (!text) return NVML_ERROR_NOT_SUPPORTED;
    if (strlen(text) >= size) return NVML_ERROR_INSUFFICIENT_SIZE;
    strcpy(out, text);
    return NVML_SUCCESS;
}

nvmlReturn_t put_handle(const struct subject *subject, const void **out) {
    if (!out) return NVML_ERROR_INVALID_ARGUMENT;
    *out = handle_for(subject);
    return *out ? NVML_SUCCESS : NVML_ERROR_MEMORY;
}

nvmlReturn_t gpu_uint(const char *name, nvmlDevice_t device, const char *path, unsigned *out) {
    struct call call = {.name = name, .target = TARGET_GPU, .handle = device};
    nvmlReturn_t result = enter(&call);
    return result ? result : leave(path ? put_uint(json_path(call.gpu, path), out) : NVML_ERROR_INVALID_ARGUMENT);
}

nvmlReturn_t gpu_ull(const char *name, nvmlDevice_t device, const char *path, unsigned long long *out) {
    struct call call = {.name = name, .target = TARGET_GPU, .handle = device};
    nvmlReturn_t result = enter(&call);
    return result ? result : leave(path ? put_ull(json_path(call.gpu, path), out) : NVML_ERROR_INVALID_ARGUMENT);
}

nvmlReturn_t gpu_text(const char *name, nvmlDevice_t device, const char *path, char *out, unsigned size) {
    struct call call = {.name = name, .target = TARGET_GPU, .handle = device};
    nvmlReturn_t result = enter(&call);
    return result ? result : leave(put_text(json_path(call.gpu, path), out, size));
}
