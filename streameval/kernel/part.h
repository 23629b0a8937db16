/* se_part: one table's part of a change, in a capsule; se_follower: a table that counts along. Used by all with tables.

   Preparing a part may fail and allocate, and changes nothing that a reader sees. A commit cannot fail, and creates and
   releases no Python object: creating one may start the garbage collector, and releasing one may run code of the user, which
   would see half of the change. The values that a commit replaces are stored in the part and released with it. */

#ifndef STREAMEVAL_PART_H
#define STREAMEVAL_PART_H

#include <Python.h>

#define SE_PART_NAME "streameval.part"

typedef struct {
    void (*commit)(void *data);  /* NULL after its call */
    void *data;                  /* memory of C, or the owner itself */
    void (*release)(void *data); /* frees data and what it refers to, committed or not; NULL if data is the owner */
} se_part;

static inline void se_commit(se_part *parts, int count) {
    for (se_part *part = parts; part < parts + count; part++) {
        if (part->commit) part->commit(part->data);
        part->commit = NULL;
    }
}

static inline void se_release(se_part *parts, int count) {
    for (se_part *part = parts; part < parts + count; part++)
        if (part->release) part->release(part->data);
}

static void se_part_end(PyObject *capsule) {
    se_part *part = (se_part *)PyCapsule_GetPointer(capsule, SE_PART_NAME);
    PyObject *owner = (PyObject *)PyCapsule_GetContext(capsule);
    se_release(part, 1);
    PyMem_Free(part);
    Py_XDECREF(owner);
}

/* Make a part that keeps its owner alive. If this fails, data is released at once. */
static PyObject *se_part_new(void (*commit)(void *), void *data, void (*release)(void *), PyObject *owner) {
    se_part *part = (se_part *)PyMem_Malloc(sizeof(se_part));
    PyObject *capsule = NULL;
    if (part) {
        *part = (se_part){commit, data, release};
        capsule = PyCapsule_New(part, SE_PART_NAME, se_part_end);
    } else {
        PyErr_NoMemory();
    }
    if (!capsule) {
        if (release) release(data);
        PyMem_Free(part);
        return NULL;
    }
    Py_INCREF(owner);
    PyCapsule_SetContext(capsule, owner);
    return capsule;
}

/* Commit the part in a capsule. 0, with an exception set, if the capsule has none. */
static inline int se_part_commit(PyObject *capsule) {
    se_part *part = (se_part *)PyCapsule_GetPointer(capsule, SE_PART_NAME);
    if (!part) return 0;
    se_commit(part, 1);
    return 1;
}

/* A table that counts the same examples as the decisions, in the same commit; its capsule keeps the table alive. Preparing
   runs no code of the user. The rows to count (a `se_score_rows`) stay valid until the part is released, but the slots of
   an example are only valid during the call. */

#define SE_FOLLOWER_NAME "streameval.follower"

typedef struct {
    void *table;
    int reads_scores; /* 0 if it reads slots only */
    /* Prepare to count rows (by 1; `known`: committed before anything else is prepared) or to take one back (by -1; `known`:
       it was surely counted). 0 and a part; or a code of types.py that says why not; or -1 with an exception set. */
    int (*prepare)(void *table, const void *rows, int by, int known, se_part *part);
    /* What a part's example adds to weight sums: a dict of amounts by key, or mentions and a sign. NULL if it raises. */
    PyObject *(*amounts)(const se_part *part);
    /* What it adds to sums outside of the table: amounts by key, and their scale. The field is NULL without such sums. */
    PyObject *(*extra)(const se_part *part);
} se_follower;

static inline void se_follower_end(PyObject *capsule) { Py_XDECREF((PyObject *)PyCapsule_GetContext(capsule)); }

/* Make the capsule of a follower that is a field of its owner. */
static inline PyObject *se_follower_new(se_follower *follower, PyObject *owner) {
    PyObject *capsule = PyCapsule_New(follower, SE_FOLLOWER_NAME, se_follower_end);
    if (!capsule) return NULL;
    Py_INCREF(owner);
    PyCapsule_SetContext(capsule, owner);
    return capsule;
}

#endif
