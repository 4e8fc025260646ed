/*
 * cqring.h - memory of a cqring completion queue, for code that is not Java.
 *
 * Version 1: words of the region and entries of the reference profile, 32, 64 and 128 bytes. Needs C11, a little-endian machine
 * and 8-byte atomics without locks. Words are little endian; a test of the Java side compares every constant here with its own.
 *
 *   byte 0     header of the region: leave it alone. Byte 88 says the shape of the queue: this file is for shape 0 (one writer,
 *              one poller); also for a device if bit 16 alone is set (many pollers: they step the consumer sequence by
 *              compare-and-set). With bit 18 the host may sleep until it is told, which nothing here does: a device
 *              leaves such a queue alone. With many writers (bits 15:0 not 0) the slots lie elsewhere, and a claim needs a row
 *   byte 128   consumer sequence                                     written by the host
 *   byte 192   dead | closed: bit 0 of a word of commands (other bits: not closed)
 *   byte 256   producer sequence | lost entries | rejected doorbells written by the device
 *   byte 320   arm word | armed index: see QueueArm; 0 as long as the host does not arm
 *   byte 384   slot 0, slot 1, ...                                   written by the device
 *
 * A device that writes:
 *   1. next sequence s; if s - consumer_sequence (acquire load) is the capacity, the ring is full: wait.
 *   2. store every word of slot s & (capacity - 1) but the header, unused ones as zero.
 *   3. store the header with owner bit cqring_phase(s, log2 of the capacity), release.
 *   4. store s + 1 into producer_sequence, release.
 * A host that polls: load the header, acquire; the entry is there if its owner bit is the phase of the sequence; read it; store
 * the next sequence into consumer_sequence, release. One thread per side. The pairs are edges CQ-OWN, CQ-CREDIT and CQ-COUNT of
 * core/docs/ordering.md.
 */
#ifndef CQRING_H
#define CQRING_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#if !defined(__STDC_VERSION__) || __STDC_VERSION__ < 201112L
#error "cqring.h needs C11"
#endif
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "cqring.h needs a little-endian machine"
#endif

#define CQRING_VERSION 1

/* Region: offsets in bytes from its start. */
#define CQRING_CONSUMER_SEQUENCE 128
#define CQRING_DEAD 192
#define CQRING_CLOSED 200
#define CQRING_PRODUCER_SEQUENCE 256
#define CQRING_LOST_ENTRIES 264
#define CQRING_REJECTED_DOORBELLS 272
#define CQRING_FIRST_SLOT 384

/* Entry: bytes per entry, and offsets in bytes from the start of its slot. */
#define CQRING_SHORT_BYTES 32
#define CQRING_STANDARD_BYTES 64
#define CQRING_LONG_BYTES 128
#define CQRING_HEADER_OFFSET 0
#define CQRING_TIMESTAMP_OFFSET 8
#define CQRING_PAYLOAD_OFFSET 40
#define CQRING_SHORT_WORK_REQUEST_ID_OFFSET 8
#define CQRING_WORK_REQUEST_ID_OFFSET 16

/* Header, word 0: owner bit, and the lowest bit of each field. */
#define CQRING_OWNER_MASK 0x1
#define CQRING_OPCODE_SHIFT 1
#define CQRING_SOLICITED_SHIFT 5
#define CQRING_COUNTER_SHIFT 8
#define CQRING_QP_SHIFT 32
#define CQRING_SYNDROME_SHIFT 56

/* Length word: byte count in bits 31:0. Detail word: vendor error in bits 7:0. */
#define CQRING_IMMEDIATE_SHIFT 32
#define CQRING_FLAGS_SHIFT 8
#define CQRING_SOURCE_QP_SHIFT 16

/* Flags, before they are shifted. */
#define CQRING_FLAG_IMMEDIATE 0x1
#define CQRING_FLAG_INVALIDATED_RKEY 0x2
#define CQRING_FLAG_GRH 0x4
#define CQRING_FLAG_FLOW_HASH 0x80

/* Operation codes that a device may write. */
#define CQRING_OP_RC_SEND 0
#define CQRING_OP_RC_RDMA_WRITE 1
#define CQRING_OP_RC_RDMA_READ 2
#define CQRING_OP_RC_COMP_SWAP 3
#define CQRING_OP_RC_FETCH_ADD 4
#define CQRING_OP_LOCAL_INV 5
#define CQRING_OP_RECV 6
#define CQRING_OP_RECV_IMM 7
#define CQRING_OP_RECV_RDMA_IMM 8
#define CQRING_OP_RECV_INV 9
#define CQRING_OP_REQ_ERR 13
#define CQRING_OP_RESP_ERR 14

/* The words in front of the slots. */
struct cqring_region {
    unsigned char header[128];
    _Atomic uint64_t consumer_sequence;
    unsigned char pad1[56];
    _Atomic uint64_t dead;
    _Atomic uint64_t closed;
    unsigned char pad2[48];
    _Atomic uint64_t producer_sequence;
    _Atomic uint64_t lost_entries;
    _Atomic uint64_t rejected_doorbells;
    unsigned char pad3[104];
};

struct cqring_entry32 {
    _Atomic uint64_t header;
    uint64_t work_request_id;
    uint64_t length;
    uint64_t detail;
};

struct cqring_entry64 {
    _Atomic uint64_t header;
    uint64_t timestamp;
    uint64_t work_request_id;
    uint64_t length;
    uint64_t detail;
    uint64_t payload[3];
};

struct cqring_entry128 {
    _Atomic uint64_t header;
    uint64_t timestamp;
    uint64_t work_request_id;
    uint64_t length;
    uint64_t detail;
    uint64_t payload[11];
};

_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && sizeof(_Atomic uint64_t) == 8, "8-byte atomics without locks");
_Static_assert(offsetof(struct cqring_region, consumer_sequence) == CQRING_CONSUMER_SEQUENCE, "consumer sequence");
_Static_assert(offsetof(struct cqring_region, producer_sequence) == CQRING_PRODUCER_SEQUENCE, "producer sequence");
_Static_assert(offsetof(struct cqring_region, lost_entries) == CQRING_LOST_ENTRIES, "lost entries");
_Static_assert(offsetof(struct cqring_region, rejected_doorbells) == CQRING_REJECTED_DOORBELLS, "rejected doorbells");
_Static_assert(offsetof(struct cqring_region, dead) == CQRING_DEAD, "dead");
_Static_assert(offsetof(struct cqring_region, closed) == CQRING_CLOSED, "closed");
_Static_assert(sizeof(struct cqring_region) == CQRING_FIRST_SLOT, "first slot");
_Static_assert(sizeof(struct cqring_entry32) == CQRING_SHORT_BYTES, "short entry");
_Static_assert(sizeof(struct cqring_entry64) == CQRING_STANDARD_BYTES, "standard entry");
_Static_assert(sizeof(struct cqring_entry128) == CQRING_LONG_BYTES, "long entry");
_Static_assert(
    offsetof(struct cqring_entry32, work_request_id) == CQRING_SHORT_WORK_REQUEST_ID_OFFSET, "work-request id, 32");
_Static_assert(offsetof(struct cqring_entry64, work_request_id) == CQRING_WORK_REQUEST_ID_OFFSET, "work-request id, 64");
_Static_assert(
    offsetof(struct cqring_entry128, work_request_id) == CQRING_WORK_REQUEST_ID_OFFSET, "work-request id, 128");
_Static_assert(offsetof(struct cqring_entry64, timestamp) == CQRING_TIMESTAMP_OFFSET, "timestamp");
_Static_assert(offsetof(struct cqring_entry64, payload) == CQRING_PAYLOAD_OFFSET, "payload, 64");
_Static_assert(offsetof(struct cqring_entry128, payload) == CQRING_PAYLOAD_OFFSET, "payload, 128");

/* Owner bit of a valid entry: 1 on even laps, 0 on odd ones. lap_shift is log2 of the capacity. */
static inline uint64_t cqring_phase(uint64_t sequence, unsigned lap_shift) {
    return ~(sequence >> lap_shift) & 1;
}

/* Where the slot of a sequence lies. */
static inline void *cqring_slot(void *region, uint64_t sequence, uint64_t capacity, uint64_t stride_bytes) {
    return (unsigned char *) region + CQRING_FIRST_SLOT + (sequence & (capacity - 1)) * stride_bytes;
}

/* Header without its owner bit. The counter's low 24 bits are kept; the others must be in range. */
static inline uint64_t cqring_header(
    unsigned opcode, unsigned solicited, uint32_t wqe_counter, uint32_t qp_number, unsigned syndrome) {
    return (uint64_t) syndrome << CQRING_SYNDROME_SHIFT | (uint64_t) qp_number << CQRING_QP_SHIFT
        | (uint64_t) (wqe_counter & 0xFFFFFF) << CQRING_COUNTER_SHIFT | (uint64_t) solicited << CQRING_SOLICITED_SHIFT
        | (uint64_t) opcode << CQRING_OPCODE_SHIFT;
}

/* Length word. */
static inline uint64_t cqring_length(uint32_t byte_count, uint32_t immediate) {
    return (uint64_t) immediate << CQRING_IMMEDIATE_SHIFT | byte_count;
}

/* Detail word. */
static inline uint64_t cqring_detail(unsigned vendor_error, unsigned flags, uint32_t source_qp) {
    return (uint64_t) source_qp << CQRING_SOURCE_QP_SHIFT | (uint64_t) flags << CQRING_FLAGS_SHIFT | vendor_error;
}

#endif
