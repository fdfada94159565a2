// SPDX-License-Identifier: GPL-3.0-or-later
/* MODEL: a neural network compiled by Tunesmith. Link libMODEL.so, or load it with dlopen; it needs libc,
 * libm and pthread only, reads weights.bin from its own folder and keeps its own threads.
 *
 * An instance belongs to one thread at a time; different instances may run on different threads at once. The
 * functions that describe the model (counts, names, types, shapes) need no instance. Tensors are dense and
 * row-major. A status other than MODEL_ok leaves the instance as it was (after MODEL_failed it has no outputs
 * until the next run); MODEL_last_error says what was wrong in a sentence. */
#ifndef MODEL_H
#define MODEL_H
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define MODEL_API __attribute__((visibility("default")))
#else
#define MODEL_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct MODEL_instance MODEL_instance;

typedef enum MODEL_status {
    MODEL_ok = 0,
    MODEL_bad_argument = 1,    /* an index, a pointer or a size that does not fit the model */
    MODEL_unsupported_cpu = 2, /* the processor lacks instructions that the module was compiled for */
    MODEL_bad_files = 3,       /* weights.bin is missing or not the one that belongs to this library */
    MODEL_no_memory = 4,
    MODEL_no_threads = 5,
    MODEL_busy = 6,  /* the instance is running on another thread */
    MODEL_failed = 7 /* a step cannot be computed with these inputs: an index out of range, too large a result */
} MODEL_status;

/* An index out of range (of Gather and its kin, of embeddings, classes, positions and filled rows of a cache) is an error. MODEL_run looks at
 * inputs that are indices before it begins, and gives MODEL_failed; so do steps that the reference kernels compute. Compiled loops do not look
 * at indices that the model itself computes, for that would cost time: they take the nearest element that there is, and lose rows that a cache
 * has no room for, so that nothing outside of a tensor is read or written.
 * `tunesmith-cli run --engine reference` refuses those, too, and names the node. */

/* threads: 0 takes the number that the module was tuned for, 1 starts no thread at all; the calling thread
 * counts. folder: where weights.bin lies; NULL: beside this library, under the path by which it was loaded or
 * where a symbolic link to it leads. The file is checked once and then mapped, not copied: all instances and processes share its
 * memory. Do not write to it or cut it off while an instance lives (that ends the program with SIGBUS); put a new one in its place
 * by renaming it, as an export does. On failure *instance is NULL and the reason is written to `message` (cut to
 * message_size; may be NULL). After fork() the child makes instances of its own: those of the parent have their
 * threads there, and must not be run or destroyed in the child. */
MODEL_API MODEL_status MODEL_create(MODEL_instance** instance, int threads, const char* folder, char* message,
                                    size_t message_size);
MODEL_API void MODEL_destroy(MODEL_instance* instance); /* NULL is allowed */
MODEL_API const char* MODEL_version(void);              /* of Tunesmith, "tunesmith 0.1.0" */
MODEL_API const char* MODEL_last_error(const MODEL_instance* instance);
MODEL_API const char* MODEL_status_text(MODEL_status status);

/* Names, shapes and types. Types are ONNX's numbers (1 float32, 7 int64 ...) and numpy's names. An index that
 * does not exist gives NULL, or -1. Where the shape of an output depends on values, its open extents and its
 * bytes are -1 (and its rank, if that is open too): MODEL_result_... tell what they became in a run. */
MODEL_API int MODEL_input_count(void);
MODEL_API const char* MODEL_input_name(int index);
MODEL_API int MODEL_input_type(int index);
MODEL_API const char* MODEL_input_type_name(int index);
MODEL_API int MODEL_input_rank(int index);
MODEL_API const int64_t* MODEL_input_dims(int index);
MODEL_API int64_t MODEL_input_bytes(int index);
MODEL_API int MODEL_find_input(const char* name);
MODEL_API int MODEL_output_count(void);
MODEL_API const char* MODEL_output_name(int index);
MODEL_API int MODEL_output_type(int index);
MODEL_API const char* MODEL_output_type_name(int index);
MODEL_API int MODEL_output_rank(int index);
MODEL_API const int64_t* MODEL_output_dims(int index);
MODEL_API int64_t MODEL_output_bytes(int index);
MODEL_API int MODEL_find_output(const char* name);

/* Inputs keep their values from run to run; one with a default value in the model has that from the beginning. Either copy into the module, or write to the memory that
 * MODEL_input_data returns (64-byte aligned, the same for the life of the instance). */
MODEL_API MODEL_status MODEL_set_input(MODEL_instance* instance, int index, const void* data, size_t bytes);
MODEL_API void* MODEL_input_data(MODEL_instance* instance, int index);
MODEL_API MODEL_status MODEL_run(MODEL_instance* instance);
MODEL_API MODEL_status MODEL_get_output(MODEL_instance* instance, int index, void* data, size_t bytes);
MODEL_API const void* MODEL_output_data(MODEL_instance* instance, int index); /* valid until the next run */

/* Shape and bytes of an output as the last run made it, for every output; NULL or -1 before the first run. */
MODEL_API int MODEL_result_rank(MODEL_instance* instance, int index);
MODEL_API const int64_t* MODEL_result_dims(MODEL_instance* instance, int index); /* valid until the next run */
MODEL_API int64_t MODEL_result_bytes(MODEL_instance* instance, int index);

/* The steps of a run, in order, and what each took in the last run while profiling was on (nanoseconds; -1:
 * not known). */
MODEL_API int MODEL_thread_count(const MODEL_instance* instance);
MODEL_API int MODEL_step_count(void);
MODEL_API const char* MODEL_step_name(int step);
MODEL_API MODEL_status MODEL_set_profiling(MODEL_instance* instance, int on);
MODEL_API int64_t MODEL_step_nanoseconds(const MODEL_instance* instance, int step);

#ifdef __cplusplus
}
#endif
#endif
