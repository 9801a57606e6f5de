/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The relay of one machine: moves bytes between the machine's second port and sockets
 * that a door has connected, or that it has accepted itself. It makes no socket, opens
 * no file and connects to nothing.
 */
#ifndef VM_NET_RELAY_H
#define VM_NET_RELAY_H

/*
 * Runs until the machine's port closes, the guest breaks the protocol, or no process has
 * the server's end of the account. Consumes both descriptors: a SOCK_SEQPACKET socket
 * (relay_wire.h) and the host's end of the port, a stream socket. Needs one thread and
 * no state of the process. Return: an exit status: 0, 1, or RELAY_EXIT_BROKE.
 */
int relay_main(int account, int port);

#endif
