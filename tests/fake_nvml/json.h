/* A small JSON reader: text in, a tree out. Trees are read-only and freed whole. */
#ifndef FAKE_NVML_JSON_H
#define FAKE_NVML_JSON_H

#include <stdbool.h>
#include <stddef.h>

enum json_type { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json {
    enum json_type type;
    char *key;               /* Name within the object around it, or NULL. */
    char *text;              /* JSON_STRING: UTF-8, terminated. */
    double number;           /* JSON_NUMBER, and 0 or 1 for JSON_BOOL. */
    unsigned long long bits; /* The same as an integer, two's complement where negative. */
    struct json *child;      /* First member or element. */
    struct json *next;       /* Next one beside this. */
};

/* NULL when the text is not JSON; then *fault tells why and *offset where. */
struct json *json_parse(const char *text, const char **fault, size_t *offset);
void json_free(struct json *tree);

/* All of these take NULL for "not there", and treat null like absence. */
const struct json *json_member(const struct json *object, const char *key);
const struct json *json_path(const struct json *object, const char *dotted);
const struct json *json_element(const struct json *array, unsigned index);
unsigned json_length(const struct json *array);
const char *json_text(const struct json *value, const char *otherwise);
unsigned long long json_bits(const struct json *value, unsigned long long otherwise);
double json_number(const struct json *value, double otherwise);

#endif
