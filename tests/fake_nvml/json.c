#include "json.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_LIMIT = 64 };

struct reader {
    const char *start;
    const char *at;
    const char *fault;
    int depth;
};

static struct json *read_value(struct reader *reader);

static struct json *failed(struct reader *reader, const char *fault) {
    if (!reader->fault) reader->fault = fault;
    return NULL;
}

static void skip_space(struct reader *reader) {
    while (*reader->at && strchr(" \t\r\n", *reader->at)) reader->at++;
}

static bool take(struct reader *reader, char wanted) {
    skip_space(reader);
    if (*reader->at != wanted) return false;
    reader->at++;
    return true;
}

static struct json *new_value(enum json_type type) {
    struct json *value = calloc(1, sizeof *value);
    if (!value) abort();
    value->type = type;
    return value;
}

/* Four hexadecimal digits, or -1. */
static long read_hex4(struct reader *reader) {
    long code = 0;
    for (int i = 0; i < 4; i++) {
        unsigned char digit = (unsigned char)reader->at[i];
        if (!isxdigit(digit)) return -1;
        code = code * 16 + (isdigit(digit) ? digit - '0' : tolower(digit) - 'a' + 10);
    }
    reader->at += 4;
    return code;
}

static char *put_utf8(char *out, long code) {
    if (code < 0x80) {
        *out++ = (char)code;
    } else if (code < 0x800) {
        *out++ = (char)(0xC0 | code >> 6);
        *out++ = (char)(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        *out++ = (char)(0xE0 | code >> 12);
        *out++ = (char)(0x80 | (code >> 6 & 0x3F));
        *out++ = (char)(0x80 | (code & 0x3F));
    } else {
        *out++ = (char)(0xF0 | code >> 18);
        *out++ = (char)(0x80 | (code >> 12 & 0x3F));
        *out++ = (char)(0x80 | (code >> 6 & 0x3F));
        *out++ = (char)(0x80 | (code & 0x3F));
    }
    return out;
}

/* After \u: a lone low surrogate becomes the byte that Python's surrogateescape stands for, so that a machine
 * description can hold names that are not UTF-8. */
static char *read_unicode_escape(struct reader *reader, char *out) {
    long code = read_hex4(reader);
    if (code >= 0xD800 && code < 0xDC00 && reader->at[0] == '\\' && reader->at[1] == 'u') {
        reader->at += 2;
        long low = read_hex4(reader);
        code = low < 0xDC00 || low > 0xDFFF ? -1 : 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    if (code < 0) return NULL;
    if (code >= 0xDC80 && code <= 0xDCFF) {
        *out++ = (char)(code - 0xDC00);
        return out;
    }
    return put_utf8(out, code);
}

static char *read_escape(struct reader *reader, char *out) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char letter = *reader->at;
    if (!letter) return NULL;
    reader->at++;
    if (letter == 'u') return read_unicode_escape(reader, out);
    const char *found = strchr(from, letter);
    if (!found) return NULL;
    *out++ = to[found - from];
    return out;
}

/* The opening quote has been taken. The text never grows by unescaping, so the distance to the end is room enough. */
static char *read_text(struct reader *reader) {
    size_t room = 0;
    while (reader->at[room] && reader->at[room] != '"') {
        room += reader->at[room] == '\\' && reader->at[room + 1] ? 2 : 1;
    }
    char *text = malloc(room + 1), *out = text;
    if (!text) abort();
    while (*reader->at && *reader->at != '"') {
        if ((unsigned char)*reader->at < 0x20) break;
        if (*reader->at != '\\') {
            *out++ = *reader->at++;
            continue;
        }
        reader->at++;
        if (!(out = read_escape(reader, out))) break;
    }
    if (!out || *reader->at != '"') {
        free(text);
        failed(reader, "bad or unfinished string");
        return NULL;
    }
    reader->at++;
    *out = '\0';
    return text;
}

static struct json *read_string(struct reader *reader) {
    char *text = read_text(reader);
    if (!text) return NULL;
    struct json *value = new_value(JSON_STRING);
    value->text = text;
    return value;
}

static struct json *read_number(struct reader *reader) {
    char *end, *integer_end;
    double number = strtod(reader->at, &end);
    if (end == reader->at) return failed(reader, "a value was expected");
    struct json *value = new_value(JSON_NUMBER);
    value->number = number;
    value->bits = *reader->at == '-' ? (unsigned long long)strtoll(reader->at, &integer_end, 10)
                                     : strtoull(reader->at, &integer_end, 10);
    reader->at = end;
    return value;
}

static struct json *read_word(struct reader *reader, const char *word, enum json_type type, unsigned bits) {
    if (strncmp(reader->at, word, strlen(word))) return failed(reader, "a value was expected");
    reader->at += strlen(word);
    struct json *value = new_value(type);
    value->bits = bits;
    value->number = bits;
    return value;
}

/* One member or element; its key is read first where the container is an object. */
static struct json *read_entry(struct reader *reader, enum json_type container) {
    char *key = NULL;
    if (container == JSON_OBJECT) {
        if (!take(reader, '"')) return failed(reader, "a key was expected");
        if (!(key = read_text(reader))) return NULL;
        if (!take(reader, ':')) {
            free(key);
            return failed(reader, "a colon was expected");
        }
    }
    struct json *value = read_value(reader);
    if (value) value->key = key;
    else free(key);
    return value;
}

static struct json *read_container(struct reader *reader, enum json_type type, char end) {
    struct json *container = new_value(type), **tail = &container->child;
    reader->at++;
    if (take(reader, end)) return container;
    do {
        if (!(*tail = read_entry(reader, type))) break;
        tail = &(*tail)->next;
    } while (take(reader, ','));
    if (!reader->fault && take(reader, end)) return container;
    json_free(container);
    return failed(reader, "a comma or the end of the list or object was expected");
}

static struct json *read_value(struct reader *reader) {
    struct json *value;
    if (++reader->depth > DEPTH_LIMIT) return failed(reader, "nested too deeply");
    skip_space(reader);
    switch (*reader->at) {
    case '{': value = read_container(reader, JSON_OBJECT, '}'); break;
    case '[': value = read_container(reader, JSON_ARRAY, ']'); break;
    case '"': reader->at++, value = read_string(reader); break;
    case 't': value = read_word(reader, "true", JSON_BOOL, 1); break;
    case 'f': value = read_word(reader, "false", JSON_BOOL, 0); break;
    case 'n': value = read_word(reader, "null", JSON_NULL, 0); break;
    default: value = read_number(reader);
    }
    reader->depth--;
    return value;
}

struct json *json_parse(const char *text, const char **fault, size_t *offset) {
    struct reader reader = {.start = text, .at = text};
    struct json *tree = read_value(&reader);
    skip_space(&reader);
    if (tree && *reader.at) {
        json_free(tree);
        tree = failed(&reader, "text after the end");
    }
    *fault = reader.fault;
    *offset = (size_t)(reader.at - reader.start);
    return tree;
}

void json_free(struct json *tree) {
    while (tree) {
        struct json *next = tree->next;
        json_free(tree->child);
        free(tree->key);
        free(tree->text);
        free(tree);
        tree = next;
    }
}

static const struct json *find(const struct json *object, const char *key, size_t length) {
    if (!object || object->type != JSON_OBJECT) return NULL;
    for (const struct json *member = object->child; member; member = member->next) {
        if (*member->key != *key || strncmp(member->key, key, length) || member->key[length]) continue;
        return member->type == JSON_NULL ? NULL : member;
    }
    return NULL;
}

const struct json *json_member(const struct json *object, const char *key) {
    return find(object, key, strlen(key));
}

const struct json *json_path(const struct json *object, const char *dotted) {
    const char *dot;
    while ((dot = strchr(dotted, '.'))) {
        object = find(object, dotted, (size_t)(dot - dotted));
        dotted = dot + 1;
    }
    return json_member(object, dotted);
}

const struct json *json_element(const struct json *array, unsigned index) {
    if (!array || array->type != JSON_ARRAY) return NULL;
    const struct json *element = array->child;
    while (element && index--) element = element->next;
    return element && element->type != JSON_NULL ? element : NULL;
}

unsigned json_length(const struct json *array) {
    unsigned length = 0;
    if (!array || array->type != JSON_ARRAY) return 0;
    for (const struct json *element = array->child; element; element = element->next) length++;
    return length;
}

const char *json_text(const struct json *value, const char *otherwise) {
    return value && value->type == JSON_STRING ? value->text : otherwise;
}

static bool is_numeric(const struct json *value) {
    return value && (value->type == JSON_NUMBER || value->type == JSON_BOOL);
}

unsigned long long json_bits(const struct json *value, unsigned long long otherwise) {
    return is_numeric(value) ? value->bits : otherwise;
}

double json_number(const struct json *value, double otherwise) {
    return is_numeric(value) ? value->number : otherwise;
}
