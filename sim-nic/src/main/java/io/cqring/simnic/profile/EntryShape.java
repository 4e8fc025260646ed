package io.cqring.simnic.profile;

/**
 * What a ring of events must know of its entries.
 *
 * @param strideBytes bytes from entry to entry
 * @param ownerOffset offset of the word with the owner bit: stored last, loaded first
 * @param ownerShift  place of the owner bit in that word, as it is loaded
 * @param firstValid  owner bit of a valid entry on the first lap
 */
record EntryShape(int strideBytes, int ownerOffset, int ownerShift, int firstValid) {}
