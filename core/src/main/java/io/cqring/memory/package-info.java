/**
 * Off-heap memory, and nothing above it.
 *
 * <pre>
 *   QueueMemory (the door) ── DirectMemory ──┬── AccessRoute.BUFFER: VarHandles over a direct ByteBuffer (default)
 *   CacheLines (who shares a line)           └── AccessRoute.UNSAFE: Agrona's UnsafeApi (with Agrona's flag)
 *   RoleLock (which process plays a role, if the memory is a file)
 * </pre>
 *
 * <p>Read {@link io.cqring.memory.QueueMemory} first. No other package of this project touches ByteBuffer, VarHandle or
 * Unsafe; a test reads the imports and says so.
 */
package io.cqring.memory;
