/* Asks a disk whether a host has reserved it: PERSISTENT RESERVE IN, READ RESERVATION (SPC-4, 6.15)
 * through SG_IO, or Reservation Report (NVM Express Base Specification, 7.5) through the NVMe
 * driver. Both commands only read. A device that knows neither is taken as not reserved. */
#include "replay/guard/private/guard_use.h"

#include <linux/nvme_ioctl.h>
#include <scsi/sg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "common/bytes.h"

#define PERSISTENT_RESERVE_IN 0x5e
#define READ_RESERVATION      0x01
#define NVME_RESV_REPORT      0x0e
#define TIMEOUT_MS            5000

static int scsi_reservation(int fd, char *text, size_t size)
{
    unsigned char answer[24] = {0};
    unsigned char sense[32];
    unsigned char command[10] = {PERSISTENT_RESERVE_IN, READ_RESERVATION};
    command[8] = sizeof answer;
    struct sg_io_hdr io = {
        .interface_id = 'S',
        .dxfer_direction = SG_DXFER_FROM_DEV,
        .cmd_len = sizeof command,
        .cmdp = command,
        .dxfer_len = sizeof answer,
        .dxferp = answer,
        .mx_sb_len = sizeof sense,
        .sbp = sense,
        .timeout = TIMEOUT_MS,
    };
    if (ioctl(fd, SG_IO, &io) != 0 || (io.info & SG_INFO_OK_MASK) != SG_INFO_OK)
        return 0;
    if (load_be32(answer + 4) == 0)
        return 0;
    snprintf(text, size, "a SCSI persistent reservation of key 0x%016llx",
             (unsigned long long)load_be64(answer + 8));
    return 1;
}

static int nvme_reservation(int fd, char *text, size_t size)
{
    int nsid = ioctl(fd, NVME_IOCTL_ID);
    if (nsid <= 0)
        return 0;
    _Alignas(8) unsigned char answer[64] = {0};
    struct nvme_passthru_cmd command = {
        .opcode = NVME_RESV_REPORT,
        .nsid = (uint32_t)nsid,
        .addr = (uint64_t)(uintptr_t)answer,
        .data_len = sizeof answer,
        .cdw10 = sizeof answer / 4 - 1,
        .timeout_ms = TIMEOUT_MS,
    };
    if (ioctl(fd, NVME_IOCTL_IO_CMD, &command) != 0 || answer[4] == 0)
        return 0;
    snprintf(text, size, "an NVMe reservation of type %u", answer[4]);
    return 1;
}

int guard_reservation(int fd, char *text, size_t size)
{
    return scsi_reservation(fd, text, size) || nvme_reservation(fd, text, size);
}
