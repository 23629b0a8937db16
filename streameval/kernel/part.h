/* A prepared part of a change: what a table does when the change is committed, behind a capsule.

   Preparing may fail, allocates, and shows nothing. A commit cannot fail, allocates no Python object and releases none:
   an allocation may start the collector, and a release run code of the user, who would see a half of the change. What
   a commit replaces goes back into the part, and is released with it. */

#ifndef STREAMEVAL_PART_H
#define STREAMEVAL_PART_H

#include <Python.h>

#define SE_PART_NAME "streameval.part"

typedef struct {
    void (*commit)(void *data);  /* NULL once it was called */
    void *data;                  /* of the memory of C, or the owner */
    void (*release)(void *data); /* frees data, and all they hold, whether or not committed; NULL for the owner */
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

/* A part that keeps its owner alive. The data are released also if this fails. */
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

/* Commit one part. 0, with an exception set, if it is none. */
static inline int se_part_commit(PyObject *capsule) {
    se_part *part = (se_part *)PyCapsule_GetPointer(capsule, SE_PART_NAME);
    if (!part) return 0;
    se_commit(part, 1);
    return 1;
}

/* A table that counts whenever the decisions of the same examples do, behind a capsule that keeps it alive. Preparing runs
   no code of the user. Rows that are counted (a `se_score_rows`) stay where they are until the part is released, but the
   slots of an example do not. */

#define SE_FOLLOWER_NAME "streameval.follower"

typedef struct {
    void *table;
    int reads_scores; /* or slots only */
    /* That rows are counted (by 1), if `known` before anything else is prepared, or that one is taken out (by -1), which was
       surely counted if `known`: 0; why not, with no part; -1 with an exception set. */
    int (*prepare)(void *table, const void *rows, int by, int known, se_part *part);
    /* What the row of a part adds to weight sums: amounts by key, or mentions with the sign. NULL with an exception set. */
    PyObject *(*amounts)(const se_part *part);
    /* What it adds to sums by key that the table has no place for, and their scale; NULL where there are none. */
    PyObject *(*extra)(const se_part *part);
} se_follower;

static inline void se_follower_end(PyObject *capsule) { Py_XDECREF((PyObject *)PyCapsule_GetContext(capsule)); }

/* A capsule of a follower that stands in its owner. */
static inline PyObject *se_follower_new(se_follower *follower, PyObject *owner) {
    PyObject *capsule = PyCapsule_New(follower, SE_FOLLOWER_NAME, se_follower_end);
    if (!capsule) return NULL;
    Py_INCREF(owner);
    PyCapsule_SetContext(capsule, owner);
    return capsule;
}

#endif
