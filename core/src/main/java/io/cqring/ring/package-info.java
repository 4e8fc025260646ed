/** Ring arithmetic: capacity, stride, offset and phase of a sequence. */
package io.cqring.ring;
