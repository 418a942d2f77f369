/*
 * A libcuda.so.1 that tells what a text file says, for tests.
 *
 * FAKE_CUDA_MACHINE names the file. Its lines are "word value":
 *   version 12020              cuDriverGetVersion
 *   gpu 8 7 32885104640 Orin   a GPU: compute capability, bytes, name
 *   fail cuInit 999            that call returns this code
 *   hang cuInit 60             that call sleeps so many seconds first
 * CUDA_FAKE_V1 at compile time leaves out cuDeviceTotalMem_v2, as the oldest libraries do.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_GPUS 8
#define NAME_BYTES 96
#define INVALID_VALUE 1
#define NOT_INITIALIZED 3
#define INVALID_DEVICE 101
#define MAJOR 75
#define MINOR 76

struct gpu {
    int major, minor;
    unsigned long long bytes;
    char name[NAME_BYTES];
};

static struct gpu gpus[MAX_GPUS];
static int gpu_count, version, initialised;

/* Reads the machine anew and answers for one call: its code, after its delay. */
static int answer(const char *call)
{
    char line[256], word[64];
    int code = 0, number;
    const char *path = getenv("FAKE_CUDA_MACHINE");
    FILE *file = path ? fopen(path, "r") : NULL;

    gpu_count = 0;
    if (!file)
        return INVALID_VALUE;
    while (fgets(line, sizeof line, file)) {
        struct gpu *gpu = &gpus[gpu_count];
        line[strcspn(line, "\n")] = 0;
        if (sscanf(line, "version %d", &number) == 1)
            version = number;
        else if (gpu_count < MAX_GPUS
                 && sscanf(line, "gpu %d %d %llu %95[^\n]", &gpu->major, &gpu->minor, &gpu->bytes, gpu->name) == 4)
            gpu_count++;
        else if (sscanf(line, "fail %63s %d", word, &number) == 2 && !strcmp(word, call))
            code = number;
        else if (sscanf(line, "hang %63s %d", word, &number) == 2 && !strcmp(word, call))
            sleep(number);
    }
    fclose(file);
    if (code == 0 && !initialised && strcmp(call, "cuInit") && strcmp(call, "cuDriverGetVersion"))
        code = NOT_INITIALIZED;
    return code;
}

static int device_answer(const char *call, int device)
{
    int code = answer(call);
    return code ? code : device < 0 || device >= gpu_count ? INVALID_DEVICE : 0;
}

int cuInit(unsigned int flags)
{
    int code = answer("cuInit");
    initialised = code == 0 && flags == 0;
    puts("a library that talks on standard output");
    return code;
}

int cuDriverGetVersion(int *result)
{
    int code = answer("cuDriverGetVersion");
    if (!code)
        *result = version;
    return code;
}

int cuDeviceGetCount(int *count)
{
    int code = answer("cuDeviceGetCount");
    if (!code)
        *count = gpu_count;
    return code;
}

int cuDeviceGet(int *device, int index)
{
    int code = device_answer("cuDeviceGet", index);
    if (!code)
        *device = index;
    return code;
}

int cuDeviceGetName(char *name, int size, int device)
{
    int code = device_answer("cuDeviceGetName", device);
    if (!code)
        snprintf(name, (size_t)size, "%s", gpus[device].name);
    return code;
}

/* The oldest form: 32 bits of it. */
int cuDeviceTotalMem(unsigned int *bytes, int device)
{
    int code = device_answer("cuDeviceTotalMem", device);
    if (!code)
        *bytes = (unsigned int)gpus[device].bytes;
    return code;
}

#ifndef CUDA_FAKE_V1
int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    int code = device_answer("cuDeviceTotalMem_v2", device);
    if (!code)
        *bytes = (size_t)gpus[device].bytes;
    return code;
}
#endif

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    int code = device_answer("cuDeviceGetAttribute", device);
    if (!code)
        *value = attribute == MAJOR ? gpus[device].major : attribute == MINOR ? gpus[device].minor : -1;
    return code;
}
